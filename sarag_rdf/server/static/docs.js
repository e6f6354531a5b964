"use strict";

const byId = (id) => document.getElementById(id);

function element(name, text, ...children) {
  const node = document.createElement(name);
  if (text !== null) node.textContent = text;
  node.append(...children);
  return node;
}

function resolve(document_, part) {
  if (!part || !part.$ref) return part;
  return part.$ref.slice(2).split("/").reduce((value, key) => value[key], document_);
}

function typeName(schema) {
  if (!schema) return "";
  if (schema.enum) return schema.enum.join(", ");
  if (schema.type === "array") return `${typeName(schema.items)}, repeated`;
  return schema.type || "";
}

function table(heads, rows) {
  const body = element("tbody", null, ...rows.map((row) =>
    element("tr", null, ...row.map((value, number) =>
      element("td", null, number ? value : element("code", value))))));
  const head = element("thead", null,
    element("tr", null, ...heads.map((name) => element("th", name))));
  return element("table", null, head, body);
}

function operation(document_, path, method, item) {
  const parts = [
    element("h3", null, element("code", `${method.toUpperCase()} ${path}`)),
    element("p", item.description || item.summary || ""),
  ];
  const parameters = (item.parameters || []).map((part) => resolve(document_, part));
  if (parameters.length) {
    parts.push(table(["parameter", "type", "description"], parameters.map((parameter) =>
      [parameter.name, typeName(parameter.schema), parameter.description || ""])));
  }
  const responses = Object.entries(item.responses).map(([status, reference]) => {
    const response = resolve(document_, reference);
    const types = Object.keys(response.content || {}).join(", ");
    return [status, response.description, types];
  });
  parts.push(table(["status", "description", "media types"], responses));
  return parts;
}

async function show() {
  const response = await fetch(new URL("openapi.json", document.baseURI));
  const document_ = await response.json();
  byId("title").textContent = `${document_.info.title} ${document_.info.version}`;
  const parts = [element("p", document_.info.description)];
  for (const [path, item] of Object.entries(document_.paths)) {
    for (const method of ["get", "post", "put", "delete"]) {
      if (item[method]) parts.push(...operation(document_, path, method, {
        ...item[method],
        parameters: [...(item.parameters || []), ...(item[method].parameters || [])],
      }));
    }
  }
  byId("paths").replaceChildren(...parts);
}

show().catch((error) => {
  byId("paths").textContent = `Cannot load openapi.json: ${error.message}`;
});
