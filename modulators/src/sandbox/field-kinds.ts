import type { ObjectType } from "@jecho/shared/internal";

/** The kind of each field of a type, in the words of type descriptions; of a table or a union its name. For the modulators' `static checkInput`. */
export function fieldKinds({ fields }: ObjectType): Record<string, string> {
  const kinds = { __proto__: null } as unknown as Record<string, string>;
  for (let i = 0; i < fields.length; i++) {
    const { name, kind } = fields[i] as ObjectType["fields"][number];
    kinds[name] = kind.is === "vector" ? `${kindOf(kind.of)}[]` : kindOf(kind);
  }
  return kinds;
}

function kindOf(kind: Exclude<ObjectType["fields"][number]["kind"], { is: "vector" }>): string {
  if (kind.is === "scalar") return kind.scalar;
  if (kind.is === "object") return kind.object.name;
  return kind.is === "union" ? kind.name : "string";
}
