#!/usr/bin/env node
import './required-node.ts'

// This import comes second, after the check of the Node.js version. An older Node.js then exits before it loads the
// program.
await import('./check.ts')
