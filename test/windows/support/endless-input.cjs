// Preloaded into MeshCentral, which ends with its standard input. Node.js for Windows takes none of Wine that would stay open: it fails on a
// pipe, and the end of a file is there at once.
const { PassThrough } = require('node:stream')
Object.defineProperty(process, 'stdin', { value: new PassThrough() })
