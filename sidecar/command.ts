#!/usr/bin/env node
import './required-node.ts'

// The import is dynamic, because an older Node.js fails on the program's static imports before the check can run.
await import('./main.ts')
