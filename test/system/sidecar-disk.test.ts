import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { sidecarProcesses } from '../support/sidecar-processes.ts'

describe('the sidecar as a process, and its disk', () => {
  const its = sidecarProcesses()

  it('ends with an error and a remedy when the folder of its database cannot be made, as below /proc', async function () {
    if (!existsSync('/proc/self')) {
      console.log('      skipped: this system has no /proc')
      this.skip()
    }
    const failed = its.start(['--config', await its.configure({ database: '/proc/nope/sidecar.sqlite' })])
    expect(await failed.ended).to.deep.equal({ outcome: 1, stderr: '' })
    const line = await failed.logged('start-failed')
    expect(line.error).to.deep.include({ code: 'database_not_writable' })
    expect(line.remedy).to.match(/"database"/)
  })

  it('says in one line how to mend it when the library of SQLite was not built', async () => {
    // What npm leaves behind where install scripts may not run, or the machine has another system or Node.
    const hiding = join(its.folder.path, 'hide-sqlite.cjs')
    await writeFile(
      hiding,
      `const Module = require('node:module')
      const resolve = Module._resolveFilename
      Module._resolveFilename = function (request, ...rest) {
        return resolve.call(this, request.endsWith('node_sqlite3.node') ? request + '.gone' : request, ...rest)
      }`,
    )
    const failed = its.start(['--config', await its.configure()], { NODE_OPTIONS: `--require ${hiding}` })
    expect(await failed.ended).to.deep.equal({ outcome: 1, stderr: '' })
    expect(failed.lines.filter(({ level }) => level === 'error')).to.have.length(1)
    const line = await failed.logged('start-failed')
    expect(line.error).to.deep.include({ code: 'sqlite_missing' })
    expect(line.remedy).to.match(/npm rebuild sqlite3/)
  })
})
