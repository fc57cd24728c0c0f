/** QuickJS as the sandbox uses it. */
export { default as variant } from "@jitl/quickjs-singlefile-mjs-release-sync";
export { newQuickJSWASMModuleFromVariant, newVariant } from "quickjs-emscripten-core";
