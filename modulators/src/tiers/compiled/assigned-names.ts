import type { Node, Pattern } from "acorn";

/** Places in a text where names are assigned to, by the names. */
export type AssignedNames = ReadonlyMap<string, readonly number[]>;

/** Names that are assigned to anywhere in these parts of a text. */
export function assignedNames(parts: readonly unknown[]): AssignedNames {
  const names = new Map<string, number[]>();
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

/** Whether a name is assigned to within a node. */
export function isAssignedIn({ start, end }: Node, name: string, names: AssignedNames): boolean {
  return names.get(name)?.some(at => at >= start && at < end) === true;
}

function identifiersOf(value: unknown, names: Map<string, number[]>): void {
  if (typeof value !== "object" || value === null) return;
  const node = value as Node & Record<string, unknown>;
  if (node.type === "VariableDeclaration" || node.type === "MemberExpression") return;
  if (node.type === "Identifier") {
    const name = node["name"] as string;
    const places = names.get(name) ?? [];
    names.set(name, places);
    places.push(node.start);
  }
  for (const part of Object.values(node)) {
    if (Array.isArray(part)) for (const one of part) identifiersOf(one, names);
    else identifiersOf(part, names);
  }
}
