#!/usr/bin/env node
import { runGateway } from "./run-gateway.ts";

await runGateway(process);
