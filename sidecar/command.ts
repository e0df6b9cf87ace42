#!/usr/bin/env node
import './required-node.ts'

// A dynamic import, because the program's own imports fail on an older Node.js before any of its code runs.
await import('./main.ts')
