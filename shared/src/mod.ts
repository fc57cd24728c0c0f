/** The face for users of all that both ends agree on: types, names, errors. */
export {
  type ChannelName,
  checkName,
  checkUserName,
  formatChannelName,
  isIdentity,
  parseChannelName,
  type SplitName,
  splitName,
} from "./channel-name.ts";
export { ERRORS } from "./error-table.ts";
export { type ErrorCode, errorCode, JechoError, mayRetry } from "./errors.ts";
export { unpack } from "./types/accessor.ts";
export type { Description, ValueOf } from "./types/describe.ts";
export { encodeEvent, type, typeFromSchema } from "./types/making.ts";
export type { FieldInfo } from "./types/reflect.ts";
export { Type } from "./types/type.ts";
export { typeScriptOf } from "./types/type-script.ts";
