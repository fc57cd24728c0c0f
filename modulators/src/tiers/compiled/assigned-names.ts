import type { Node, Pattern } from "acorn";

/** Names that are assigned to anywhere in these parts of a text. */
export function assignedNames(parts: readonly unknown[]): Set<string> {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const one of value) visit(one);
      return;
    }
    if (typeof value !== "object" || value === null || !("type" in value)) return;
    const node = value as Node & Record<string, unknown>;
    if (
      node.type === "AssignmentExpression" ||
      node.type === "ForOfStatement" ||
      node.type === "ForInStatement"
    )
      identifiersOf(node["left"] as Pattern, names);
    if (node.type === "UpdateExpression") identifiersOf(node["argument"] as Pattern, names);
    for (const part of Object.values(node)) visit(part);
  };
  visit(parts);
  return names;
}

function identifiersOf(value: unknown, names: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  const node = value as Node & Record<string, unknown>;
  if (node.type === "VariableDeclaration" || node.type === "MemberExpression") return;
  if (node.type === "Identifier") names.add(node["name"] as string);
  for (const part of Object.values(node)) {
    if (Array.isArray(part)) for (const one of part) identifiersOf(one, names);
    else identifiersOf(part, names);
  }
}
