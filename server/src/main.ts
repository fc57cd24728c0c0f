#!/usr/bin/env node
import { runGateway } from "./gateway/run-gateway.ts";

await runGateway(process);
