/** The program of the thread that reads and compiles texts. Requests are answered one after the other. */
import { parentPort } from "node:worker_threads";
import { answerTo, type CompileRequest } from "./compiler.ts";

parentPort?.on("message", (request: CompileRequest) => parentPort?.postMessage(answerTo(request)));
