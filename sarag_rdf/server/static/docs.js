"use strict";

const byId = (id) => document.getElementById(id);

function element(name, ...children) {
  const node = document.createElement(name);
  node.append(...children);
  return node;
}

function typeName(schema) {
  if (schema.type === "array") return `${typeName(schema.items)}, repeated`;
  return (schema.enum || []).join(", ") || schema.type || "";
}

function table(heads, rows) {
  const row = (kind, values) => element("tr", ...values.map((value) => element(kind, value)));
  const named = rows.map(([name, ...rest]) => row("td", [element("code", name), ...rest]));
  return element("table",
    element("thead", row("th", heads)), element("tbody", ...named));
}

function operation(description, name, item) {
  const parameters = (item.parameters || []).map((each) =>
    [each.name, typeName(each.schema), each.description || ""]);
  const responses = Object.entries(item.responses).map(([status, response]) => {
    const key = (response.$ref || "").split("/").pop();
    const { description: text, content } = description.components.responses[key] || response;
    return [status, text, Object.keys(content || {}).join(", ")];
  });
  return [
    element("h3", element("code", name)),
    element("p", item.description || ""),
    ...(parameters.length ? [table(["parameter", "type", "description"], parameters)] : []),
    table(["status", "description", "media types"], responses),
  ];
}

async function show() {
  const response = await fetch(new URL("openapi.json", document.baseURI));
  const description = await response.json();
  const { title, version, description: text } = description.info;
  byId("title").textContent = `${title} ${version}`;
  const operations = Object.entries(description.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, each]) =>
      operation(description, `${method.toUpperCase()} ${path}`, each)));
  byId("paths").replaceChildren(element("p", text), ...operations);
}

show().catch((error) => {
  byId("paths").textContent = `Cannot load openapi.json: ${error.message}`;
});
