#!/usr/bin/env node
import './required-node.ts'

// This import comes second: on an older Node.js, it fails before any code of the program runs.
await import('./check.ts')
