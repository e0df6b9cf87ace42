#!/usr/bin/env node
import './required-node.ts'

// Import the program after the check of the Node.js version, so that an older Node.js exits before it loads the
// program.
await import('./check.ts')
