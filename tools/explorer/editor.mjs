// What the SPARQL editor uses of its libraries.
export { autocompletion, completionKeymap, startCompletion } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { bracketMatching, HighlightStyle, syntaxHighlighting, syntaxTree } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { EditorState } from "@codemirror/state";
export { EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
export { sparql } from "codemirror-lang-sparql";
