// Shows openapi.json, and sends requests from the page. Text is set as text, never as markup.
"use strict";

let api;

// What stands in backquotes becomes code.
function prose(text) {
  return (text ?? "").split("`").map((part, place) => {
    if (place % 2 === 0) return part;
    const code = document.createElement("code");
    code.textContent = part;
    return code;
  });
}

function element(name, text, attributes = {}, children = []) {
  const made = document.createElement(name);
  made.append(...prose(text));
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// What a reference such as `#/components/schemas/Problem` stands for.
function resolve(told) {
  if (!told?.$ref) return told ?? {};
  return told.$ref.split("/").slice(1).reduce((inside, name) => inside[name], api);
}

// The alternatives of a schema, without `null`.
function alternatives(schema) {
  return (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.type !== "null");
}

function typeName(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  const either = alternatives(schema);
  if (either.length) return either.map(typeName).join(" or ");
  const types = [schema.type ?? (schema.allOf ? "object" : "any")].flat().filter((type) => type !== "null");
  if (types[0] === "array") return `list of ${typeName(schema.items ?? {})}`;
  return types.join(" or ") + (schema.format ? ` (${schema.format})` : "");
}

// The properties of an object, those of the schemas that it is made of included.
function propertiesOf(schema) {
  const whole = resolve(schema);
  const found = { properties: { ...whole.properties }, required: [...(whole.required ?? [])] };
  for (const part of whole.allOf ?? []) {
    const { properties, required } = propertiesOf(part);
    Object.assign(found.properties, properties);
    found.required.push(...required);
  }
  return found;
}

function describe(schema, seen = []) {
  const whole = resolve(schema);
  const parts = [];
  if (whole.description) parts.push(element("p", whole.description, { class: "note" }));
  if (whole.enum) parts.push(element("code", whole.enum.join(" | ")));
  const { properties, required } = propertiesOf(whole);
  const rows = Object.entries(properties).map(([name, property]) => {
    const need = required.includes(name) ? "" : ", optional";
    const text = property.description ?? alternatives(property)[0]?.description ?? "";
    const line = [element("code", name), ` ${typeName(property)}${need}. `, ...prose(text)];
    return element("li", "", {}, [...line, ...nested(property, seen)]);
  });
  if (rows.length) parts.push(element("ul", "", {}, rows));
  for (const one of alternatives(whole)) parts.push(...(one.$ref ? nested(one, seen) : [alternative(one, seen)]));
  if (whole.items) parts.push(...nested(whole.items, seen));
  return parts;
}

// One of several forms of an object, under the word that tells them apart (`type: media`).
function alternative(schema, seen) {
  const fields = Object.entries(propertiesOf(schema).properties);
  const word = fields.find(([, property]) => property.enum?.length === 1);
  const title = word ? `${word[0]}: ${word[1].enum[0]}` : typeName(schema);
  return element("details", "", {}, [element("summary", title), ...describe(schema, seen)]);
}

// A schema of its own, to open; a schema inside itself is not shown again.
function nested(schema, seen) {
  if (schema.items) return nested(schema.items, seen);
  const either = alternatives(schema);
  if (either.length) return either.flatMap((one) => nested(one, seen));
  const name = schema.$ref ? typeName(schema) : "";
  if (!name || seen.includes(name)) return [];
  return [element("details", "", {}, [element("summary", name), ...describe(schema, [...seen, name])])];
}

// A value that fits the schema: its example, its default, or an empty one.
function sample(schema, depth = 0) {
  const whole = resolve(schema);
  if (whole.example !== undefined) return whole.example;
  if (whole.default !== undefined) return whole.default;
  if (whole.enum) return whole.enum[0];
  const either = alternatives(whole);
  if (either.length) return sample(either[0], depth);
  const { properties, required } = propertiesOf(whole);
  if (Object.keys(properties).length) {
    const names = depth ? required : Object.keys(properties);
    return Object.fromEntries(names.map((name) => [name, sample(properties[name], depth + 1)]));
  }
  const type = [whole.type].flat()[0];
  return { string: "", integer: 0, number: 0, boolean: false, array: [] }[type] ?? {};
}

async function send(method, path, fields, body, output) {
  const headers = {};
  const query = new URLSearchParams();
  for (const { parameter, input } of fields) {
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (input.value && parameter.in === "query") query.set(parameter.name, input.value);
    else if (input.value) headers[parameter.name] = input.value;
  }
  const token = document.getElementById("token").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  const options = { method: method.toUpperCase(), headers };
  if (body?.type === "file" && body.files[0]) options.body = body.files[0];
  else if (body?.value) {
    options.body = body.value;
    headers["Content-Type"] = "application/json";
  }
  const text = query.size ? `?${query}` : "";
  try {
    const answer = await fetch(`.${path}${text}`, options);
    const content = await answer.text();
    let shown = content;
    if (/json/.test(answer.headers.get("content-type"))) shown = JSON.stringify(JSON.parse(content), null, 2);
    output.textContent = `${answer.status} ${answer.statusText}\n\n${shown}`;
  } catch (error) {
    output.textContent = String(error);
  }
  output.hidden = false;
}

function parameterFields(operation) {
  return (operation.parameters ?? []).map((parameter) => {
    const schema = resolve(parameter.schema);
    const words = alternatives(schema).concat(schema).flatMap((one) => resolve(one).enum ?? []);
    const hint = [typeName(parameter.schema ?? {}), words.join(" | ")].filter(Boolean).join(": ");
    const input = element("input", "", { placeholder: hint, "aria-label": parameter.name });
    return { parameter, input };
  });
}

function operationDetails(method, path, operation) {
  const details = element("details", "", { id: operation.operationId });
  const open = (operation.security ?? [{}]).some((need) => !Object.keys(need).length);
  details.append(element("summary", "", {}, [
    element("span", method.toUpperCase(), { class: "method" }), element("span", path, { class: "path" }),
    " ", ...prose(operation.summary), open ? " (no token needed)" : "",
  ]));
  if (operation.description) details.append(element("p", operation.description));
  const fields = parameterFields(operation);
  if (fields.length) {
    const rows = fields.flatMap(({ parameter, input }) => [
      element("div", "", {}, [element("code", parameter.name), ` ${parameter.in}${parameter.required ? ", required" : ""}`]),
      element("div", "", {}, [input, element("span", parameter.description, { class: "note" })]),
    ]);
    details.append(element("h3", "Parameters"), element("div", "", { class: "fields" }, rows));
  }
  let body;
  if (operation.requestBody) {
    const json = operation.requestBody.content["application/json"];
    body = json ? element("textarea", JSON.stringify(sample(json.schema), null, 2), { "aria-label": "Body" })
      : element("input", "", { type: "file", "aria-label": "Body" });
    details.append(element("h3", "Body"), body, ...(json ? describe(json.schema) : []));
  }
  const output = element("pre", "", { hidden: "" });
  const button = element("button", "Send", { type: "button" });
  button.addEventListener("click", () => send(method, path, fields, body, output));
  details.append(element("p", "", {}, [button]), output, element("h3", "Answers"));
  for (const [status, told] of Object.entries(operation.responses)) {
    const answer = resolve(told);
    const schema = Object.values(answer.content ?? {})[0]?.schema;
    details.append(element("div", `${status}: ${answer.description}`), ...(schema ? nested(schema, []) : []));
  }
  return details;
}

async function show() {
  api = await (await fetch("openapi.json")).json();
  document.getElementById("version").textContent = `Version ${api.info.version}, OpenAPI ${api.openapi}.`;
  document.getElementById("introduction").replaceChildren(...prose(api.info.description));
  const tags = new Map(api.tags.map(({ name }) => [name, [element("h2", name)]]));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      tags.get(operation.tags[0]).push(operationDetails(method, path, operation));
    }
  }
  document.getElementById("routes").append(...[...tags.values()].flat());
}

show().catch((error) => { document.getElementById("introduction").textContent = String(error); });
