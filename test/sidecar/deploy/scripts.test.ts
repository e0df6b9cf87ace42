import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { textOf } from '../docs/page.ts'

const DEPLOY = fileURLToPath(new URL('../../../sidecar/deploy', import.meta.url))
const read = (name: string) => readFileSync(join(DEPLOY, name), 'utf8')

describe('The scripts in sidecar/deploy', () => {
  if (process.platform === 'win32') return
  const folder = temporaryFolder()

  /** Creates programs in a folder that scripts search before the system's. @returns the folder */
  async function fakePrograms(programs: Readonly<Record<string, string>>): Promise<string> {
    const bin = folder.path('bin')
    await mkdir(bin)
    for (const [name, body] of Object.entries(programs)) {
      await writeFile(join(bin, name), `#!/bin/sh\n${body}\n`)
      await chmod(join(bin, name), 0o755)
    }
    return bin
  }

  const run = (bin: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync('/bin/sh', args, {
      cwd: folder.path(),
      encoding: 'utf8',
      env: { PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`, ...env },
    })

  // Shows: sidecar C12.15.
  for (const [state, isActive, calls] of [
    ['running', 0, 2],
    ['stopped', 3, 1],
  ] as const)
    it(`renew-certificate installs a certificate and reloads the sidecar (${state})`, async () => {
      const bin = await fakePrograms({
        install: 'echo "install $*" >> calls',
        systemctl: `[ "$1" = is-active ] && exit ${isActive}\necho "systemctl $*" >> calls`,
      })
      const { status } = run(bin, [join(DEPLOY, 'renew-certificate')], {
        RENEWED_LINEAGE: '/etc/letsencrypt/live/push',
      })
      expect(status).to.equal(0)
      expect((await readFile(folder.path('calls'), 'utf8')).trimEnd().split('\n')).to.deep.equal(
        [
          'install -m 640 -g mesh-companion /etc/letsencrypt/live/push/fullchain.pem /etc/letsencrypt/live/push/privkey.pem /etc/mesh-companion/',
          'systemctl reload mesh-companion-sidecar',
        ].slice(0, calls),
      )
    })

  // Shows: sidecar C12.15.
  it('send-alert prints the error and exits with 0 if /readyz does not answer', async () => {
    const bin = await fakePrograms({ curl: 'echo refused >&2; exit 7', hostname: 'echo push-1' })
    const { status, stdout } = run(bin, [join(DEPLOY, 'alert/send-alert')])
    expect(status).to.equal(0)
    expect(stdout).to.equal('The sidecar on push-1 needs attention: refused\n')
  })

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
  const itWithSystemd = hasSystemd ? it : it.skip
  const unless = hasSystemd ? '' : ' (skipped: there is no systemd-analyze here)'
  // Shows: sidecar C12.15.
  itWithSystemd(`systemd accepts the units that send alerts${unless}`, async () => {
    const names = ['mesh-companion-alert.service', 'mesh-companion-watch.service', 'mesh-companion-watch.timer']
    for (const name of names) {
      // The operator's script is not installed here.
      const text = read(`alert/${name}`).replaceAll('/etc/mesh-companion/send-alert', '/bin/true')
      await writeFile(folder.path(name), text)
    }
    const dropIn = folder.path('mesh-companion-sidecar.service.d')
    await mkdir(dropIn)
    await writeFile(join(dropIn, 'on-failure.conf'), read('alert/on-failure.conf'))
    const unit = read('mesh-companion-sidecar.service').replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true')
    await writeFile(folder.path('mesh-companion-sidecar.service'), unit)
    const paths = [...names, 'mesh-companion-sidecar.service'].map((name) => folder.path(name))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], {
      encoding: 'utf8',
      env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder.path()}:` },
    })
    expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' })
  })

  it('the documentation page on alerts names each file that its commands install', () => {
    const page = textOf('metrics-and-alerts.md', '## Without Prometheus')
    for (const name of ['send-alert', 'mesh-companion-alert.service', 'mesh-companion-watch.timer', 'on-failure.conf'])
      expect(page).to.include(name)
  })

  describe('The build step of the Docker image that provides SQLite', () => {
    const [, step = ''] = /^RUN (node -e "require\('sqlite3'\)"(?:.*\\\n)*.*)$/m.exec(read('Dockerfile')) ?? []
    const forbidden = 'echo called >&2; exit 1'
    /** Makes a binding that loads only with this content in its binary. */
    async function makeBinding(content: string): Promise<void> {
      const release = folder.path('node_modules/sqlite3/build/Release')
      await mkdir(release, { recursive: true })
      await writeFile(join(release, 'node_sqlite3.node'), content)
      const home = folder.path('node_modules/sqlite3')
      await writeFile(join(home, 'package.json'), JSON.stringify({ version: '6.0.1', main: 'index.js' }))
      await writeFile(
        join(home, 'index.js'),
        "if (require('fs').readFileSync(__dirname + '/build/Release/node_sqlite3.node', 'utf8') !== 'fits') throw 1",
      )
    }
    const target = () => folder.path('fetched')
    /** npm that installs a binary of this content. */
    const npm = (content: string) =>
      `[ "$4" = sqlite3@6.0.1 ] || exit 9; mkdir -p "$3/node_modules/sqlite3/build/Release" && printf ${content} > "$3/node_modules/sqlite3/build/Release/node_sqlite3.node"`
    const runStep = (bin: string) =>
      run(bin, ['-c', step.replaceAll('/sqlite ', `${target()} `).replaceAll('/sqlite/', `${target()}/`)])

    // Shows: sidecar C12.9.
    it("the Docker build uses the package's SQLite binary if that loads", async () => {
      const bin = await fakePrograms({ npm: forbidden, 'apt-get': forbidden })
      await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), folder.path('node_modules'))
      expect(runStep(bin).stderr).to.equal('')
    })

    // Shows: sidecar C12.9.
    it('the Docker build fetches an SQLite binary if the packaged one does not load', async () => {
      const bin = await fakePrograms({ npm: npm('fits'), 'apt-get': forbidden })
      await makeBinding('for another processor')
      expect(runStep(bin).status).to.equal(0)
    })

    it('the Docker build installs a compiler for SQLite only after npm has failed', async () => {
      const bin = await fakePrograms({ npm: `[ -e compiler ] || exit 1; ${npm('fits')}`, 'apt-get': 'touch compiler' })
      await makeBinding('for another processor')
      expect(runStep(bin).status).to.equal(0)
    })

    it('the Docker build fails if neither the packaged nor the fetched SQLite loads', async () => {
      const bin = await fakePrograms({ npm: npm('broken'), 'apt-get': forbidden })
      await makeBinding('for another processor')
      expect(runStep(bin).status).not.to.equal(0)
    })
  })
})
