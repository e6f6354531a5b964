// What the SPARQL editor uses of its libraries.
export { autocompletion, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { EditorView, keymap, lineNumbers } from "@codemirror/view";
export { tags } from "@lezer/highlight";
export { sparql } from "codemirror-lang-sparql";
