/** What users see of what both ends agree on: types, names, errors. */
export {
  type ChannelName,
  checkName,
  checkUserName,
  formatChannelName,
  parseChannelName,
  type SplitName,
  splitName,
} from "./channel-name.ts";
export { ERRORS, type ErrorCode, errorCode, JechoError, mayRetry } from "./errors.ts";
export { unpack } from "./types/accessor.ts";
export type { Description, ValueOf } from "./types/describe.ts";
export type { FieldInfo } from "./types/reflect.ts";
export { Type, type } from "./types/type.ts";
export { typeScriptOf } from "./types/type-script.ts";
