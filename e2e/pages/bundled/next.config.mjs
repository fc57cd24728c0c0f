/** The gateway serves files. */
export default { output: "export" };
