import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { claim, registration } from '../support/running-api.ts'
import { sidecarProcesses } from '../support/sidecar-processes.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'
import { until } from '../support/until.ts'

describe('The disk of a sidecar process', () => {
  const sidecars = sidecarProcesses()
  const inFolder = (name: string) => join(sidecars.folder.path, name)

  /** A library in C that a process is started with. The test is skipped where none can be made. */
  async function library(test: Mocha.Context, source: string): Promise<string> {
    await writeFile(inFolder('preloaded.c'), source)
    const compiler = spawnSync('cc', [
      '-shared',
      '-fPIC',
      '-o',
      inFolder('preloaded.so'),
      inFolder('preloaded.c'),
      '-ldl',
    ])
    if (compiler.status !== 0 || process.platform !== 'linux') {
      console.log('      skipped: this needs Linux and a C compiler')
      test.skip()
    }
    return inFolder('preloaded.so')
  }

  // Shows: sidecar C13.13.
  it('the sidecar exits with a remedy if its database folder cannot be created', async function () {
    if (!existsSync('/proc/self')) {
      console.log('      skipped: this system has no /proc')
      this.skip()
    }
    const failed = sidecars.start(['--config', await sidecars.configure({ database: '/proc/nope/sidecar.sqlite' })])
    expect(await failed.ended).to.deep.equal({ outcome: 1, stderr: '' })
    const line = await failed.logged('start-failed')
    expect(line.error).to.deep.include({ code: 'database_not_writable' })
    expect(line.remedy).to.match(/"database"/)
  })

  // Shows: sidecar O1.18.
  it('--check reports a disk without space for a database', async function () {
    const config = await sidecars.configure()
    const disk = inFolder('data')
    const onFullDisk = (command: string) =>
      spawnSync(
        'unshare',
        ['-rm', 'sh', '-c', `mkdir -p ${disk} && mount -t tmpfs -o size=64k none ${disk} && ${command}`],
        { encoding: 'utf8' },
      )
    if (onFullDisk('true').status !== 0) {
      console.log('      skipped: no file system can be mounted here')
      this.skip()
    }
    const check = `${process.execPath} --import tsx sidecar/main.ts --config ${config} --check`
    const { status, stdout } = onFullDisk(
      `(cat /dev/zero > ${disk}/rest; ${check}; code=$?; ls -A ${disk}; exit $code)`,
    )
    expect(status).to.equal(78)
    expect(stdout).to.match(/^database: The disk of the database is full\..*\nrest\n$/m)
  })

  it('--check reports a file system without locks, such as a network share', async function () {
    const config = await sidecars.configure()
    const LD_PRELOAD = await library(
      this,
      `#define _GNU_SOURCE
      #include <dlfcn.h>
      #include <errno.h>
      #include <fcntl.h>
      #include <stdarg.h>
      static int without_locks(const char *name, int file, int command, void *value) {
        if (command == F_SETLK || command == F_SETLKW) { errno = ENOLCK; return -1; }
        return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, name))(file, command, value);
      }
      #define WRAP(name) int name(int file, int command, ...) { \\
        va_list rest; va_start(rest, command); void *value = va_arg(rest, void *); va_end(rest); \\
        return without_locks(#name, file, command, value); }
      WRAP(fcntl)
      WRAP(fcntl64)`,
    )
    const args = [...TYPESCRIPT, 'sidecar/main.ts', '--config', config, '--check']
    const env = { ...process.env, LD_PRELOAD }
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
    expect(status).to.equal(78)
    expect(stdout).to.match(
      /^database: The disk failed to read or write the database.* \(its file system does not support file locks\)/m,
    )
  })

  // Shows: sidecar C13.13, P1.17.
  it("the sidecar exits with a remedy if SQLite's library was not built", async () => {
    // State after npm skipped install scripts, or after a change of system or Node version.
    const hiding = inFolder('hide-sqlite.cjs')
    await writeFile(
      hiding,
      `const Module = require('node:module')
      const resolve = Module._resolveFilename
      Module._resolveFilename = function (request, ...rest) {
        return resolve.call(this, request.endsWith('node_sqlite3.node') ? request + '.gone' : request, ...rest)
      }`,
    )
    const failed = sidecars.start(['--config', await sidecars.configure()], { NODE_OPTIONS: `--require ${hiding}` })
    expect(await failed.ended).to.deep.equal({ outcome: 1, stderr: '' })
    expect(failed.lines.filter(({ level }) => level === 'error')).to.have.length(1)
    const line = await failed.logged('start-failed')
    expect(line.error).to.deep.include({ code: 'sqlite_missing' })
    expect(line.remedy)
      .to.match(/npm rebuild sqlite3/)
      .and.match(/GLIBC.*--build-from-source/)
  })

  // Shows: sidecar C13.14.
  it('the sidecar exits on SIGTERM even while an fsync of the disk hangs', async function () {
    // While the file `hang` exists, each sync waits longer than any caller waits for the end.
    const LD_PRELOAD = await library(
      this,
      `#include <fcntl.h>
      #include <unistd.h>
      static int sync_slowly(void) {
        if (access("${inFolder('hang')}", F_OK) == 0) { close(creat("${inFolder('hangs')}", 0600)); sleep(600); }
        return 0;
      }
      int fsync(int file) { (void)file; return sync_slowly(); }
      int fdatasync(int file) { (void)file; return sync_slowly(); }`,
    )
    const sidecar = sidecars.start(['--config', await sidecars.configure()], { LD_PRELOAD })
    await sidecar.post('/v1/register', registration('N1CALL'))
    await writeFile(inFolder('hang'), '')
    const unanswered = sidecar.post('/v1/register', registration('N2CALL')).catch(() => 'cut off')
    const changes = watch(sidecars.folder.path)
    while (!existsSync(inFolder('hangs'))) await once(changes, 'change')
    changes.close()
    sidecar.kill('SIGTERM')
    expect(await sidecar.ended).to.deep.equal({ outcome: 'SIGTERM', stderr: '' })
    expect(sidecar.lines.at(-1)?.event).to.equal('stopped')
    expect(await unanswered).to.equal('cut off')
    await rm(inFolder('hang'))
    const next = sidecars.start(['--config', await sidecars.configure()])
    expect((await next.post('/v1/sync', { ...claim('N1CALL'), since: 0 })).status).to.equal(200)
  })

  // Shows: sidecar C13.15.
  it('reports not ready after the database is deleted, and acknowledges no new message', async () => {
    const sidecar = sidecars.start(['--config', await sidecars.configure()])
    await sidecar.post('/v1/register', registration('N1CALL', { ackMessages: true }))
    await sidecars.upstream.until(() => sidecars.asksFor('N1CALL-7'))
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :safe{1')
    await sidecars.upstream.waitFor(({ line }) => line.includes(':ack1'))
    const readiness = async () => {
      const answer = await fetch(`${await sidecar.adminUrl()}/readyz`)
      return [answer.status, ((await answer.json()) as { reasons?: string[] }).reasons]
    }
    expect(await readiness()).to.deep.equal([200, undefined])

    await rm(inFolder('data'), { recursive: true })
    expect(await sidecar.logged('database-gone')).to.include({ level: 'error' })
    expect(await readiness()).to.deep.equal([503, ['database_replaced']])
    sidecars.upstream.inject('N2CALL>APRS,TCPIP*::N1CALL-7 :lost at the next start{2')
    const counted = async () => (await fetch(`${await sidecar.adminUrl()}/metrics`)).text()
    await until('the ack that could not be sent', async () =>
      (await counted()).includes('mesh_companion_acks_unsendable_total 1\n'),
    )
    const { body } = await sidecar.post('/v1/sync', { ...claim('N1CALL'), since: 0 })
    expect(body.messages.map(({ text }) => text)).to.deep.equal(['safe', 'lost at the next start'])
    expect(sidecars.upstream.received.filter(({ line }) => line.includes(':ack'))).to.have.length(1)

    sidecar.kill('SIGTERM')
    expect(await sidecar.ended).to.deep.equal({ outcome: 0, stderr: '' })
    const next = sidecars.start(['--config', await sidecars.configure()])
    expect((await next.post('/v1/sync', { ...claim('N1CALL'), since: 0 })).status).to.equal(404)
  })
})
