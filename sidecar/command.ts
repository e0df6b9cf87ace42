#!/usr/bin/env node
import './required-node.ts'

// Only now: imports of the program fail on an older Node.js, before any of its code runs.
await import('./main.ts')
