#!/usr/bin/env node
import './required-node.ts'

// With a static import, an old Node.js would fail on the program's syntax before the version check could run.
await import('./main.ts')
