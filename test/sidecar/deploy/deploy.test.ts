import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { shownAddress } from '../../../sidecar/config/postgres-address.ts'
import { settingsFrom } from '../../../sidecar/config/reading/load-settings.ts'
import type { Settings } from '../../../sidecar/config/settings.ts'
import { isLocal, readAddress } from '../../../sidecar/store/postgres/database/address.ts'
import { writeCredentials } from '../../support/credential-files.ts'
import { serveOperatorPort } from '../../support/operator-port.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const QUICK_START = read('sidecar/docs/quick-start.md')
const SEVERAL_MACHINES = read('sidecar/docs/several-machines.md')
const SAMPLE = JSON.parse(read('sidecar/deploy/sidecar.json'))
const SHARED = JSON.parse(read('sidecar/deploy/several/sidecar.json'))
const PACKAGE = JSON.parse(read('package.json'))
const COMMAND = 'mesh-companion-sidecar'
const CONFIG = '/etc/mesh-companion/sidecar.json'
const UNIT = 'sidecar/deploy/mesh-companion-sidecar.service'

const TEMPLATE = 'sidecar/deploy/mesh-companion-sidecar@.service'
const SEVERAL = 'sidecar/deploy/several'

/** Returns the settings of an instance with these variables and the shared configuration. Fails on any warning. */
async function sharedSettings(folder: string, environment: Readonly<Record<string, string>>): Promise<Settings> {
  const files = SHARED.push as { fcm: { serviceAccountFile: string }; apns: { keyFile: string } }
  await writeCredentials(folder, {
    serviceAccountFile: files.fcm.serviceAccountFile,
    apnsKeyFile: files.apns.keyFile,
  })
  const outcome = settingsFrom(JSON.stringify(SHARED), folder, environment)
  if ('problems' in outcome) throw new Error(JSON.stringify(outcome.problems))
  expect(outcome.warnings).to.deep.equal([])
  return outcome.settings
}

describe('The deploy files for operators', () => {
  const folder = temporaryFolder()

  // Shows: sidecar C12.10.
  it('the sample configuration equals the configuration in the quick start', () => {
    const shown = /Write `sidecar\.json`.*?```json\n(.*?)```/s.exec(QUICK_START)?.[1] ?? ''
    expect(JSON.parse(shown)).to.deep.equal(SAMPLE)
  })

  describe('The systemd unit', () => {
    const settings = new Map(
      [...read(UNIT).matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value] as const),
    )

    // Shows: sidecar C12.8.
    it("the systemd unit starts the package's command with the documented configuration", () => {
      expect(PACKAGE.bin).to.have.property(COMMAND)
      expect(settings.get('ExecStart')).to.equal(`/opt/mesh-companion/bin/${COMMAND} --config ${CONFIG}`)
      expect(QUICK_START).to.include('/opt/mesh-companion').and.include(CONFIG).and.include(basename(UNIT))
    })

    it('the systemd unit uses the documented database folder and group', () => {
      expect(dirname(SAMPLE.database)).to.equal(`/var/lib/${settings.get('StateDirectory')}`)
      expect(QUICK_START).to.include(`groupadd --system ${settings.get('SupplementaryGroups')}`)
    })

    it('the systemd unit does not restart after exit codes that need an operator', () => {
      const sources = read('sidecar/main.ts') + read('sidecar/command-line.ts')
      // A start never ends with EXIT_UNAVAILABLE, which is for commands that ask a running sidecar.
      const codes = [...sources.matchAll(/^(?:export )?const EXIT_(?!UNAVAILABLE)\w+ = (\d+)$/gm)].map(
        ([, code]) => code,
      )
      expect(settings.get('RestartPreventExitStatus')?.split(' ')).to.have.members(codes)
    })

    // Shows: sidecar C12.8.
    it('the systemd unit drops the privileges that the sidecar does not need', () => {
      for (const name of [
        'DynamicUser',
        'NoNewPrivileges',
        'PrivateDevices',
        'PrivateTmp',
        'ProtectHome',
        'RestrictSUIDSGID',
      ])
        expect(settings.get(name), name).to.equal('yes')
      expect(settings.get('ProtectSystem')).to.equal('strict')
      expect(settings.get('ExecReload')).to.equal('/bin/kill -HUP $MAINPID')
      expect(settings.get('MemoryMax')).to.match(/^\d+M$/)
    })

    const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
    const itWithSystemd = hasSystemd ? it : it.skip
    const unless = hasSystemd ? '' : ' (skipped: no systemd)'
    // Shows: sidecar C12.8.
    itWithSystemd(`systemd accepts the unit and rates it as well protected${unless}`, async () => {
      // Here nothing is installed in /opt.
      const unit = folder.path(basename(UNIT))
      await writeFile(unit, read(UNIT).replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`))
      const verify = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
      expect({ status: verify.status, stderr: verify.stderr }).to.deep.equal({ status: 0, stderr: '' })
      const locked = ['security', '--offline=true', '--no-pager', '--threshold=25', unit]
      expect(spawnSync('systemd-analyze', locked).status).to.equal(0)
    })
  })

  describe('The systemd unit of several instances', () => {
    const lines = (path: string) =>
      read(path)
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
    const template = lines(TEMPLATE)

    // Shows: sidecar P1.9.
    it("an instance's systemd unit differs only in name, state folder and .env file", () => {
      const plain = lines(UNIT)
      expect(template.filter((line) => !plain.includes(line))).to.deep.equal([
        'Description=Push and sync sidecar of an APRS messaging app, instance %i',
        'Environment=SIDECAR_INSTANCE=%l-%i',
        'EnvironmentFile=/etc/mesh-companion/%i.env',
        'StateDirectory=mesh-companion-%i',
      ])
      expect(plain.filter((line) => !template.includes(line))).to.deep.equal([
        'Description=Push and sync sidecar of an APRS messaging app',
        'StateDirectory=mesh-companion',
      ])
      expect(SEVERAL_MACHINES).to.include(basename(TEMPLATE))
    })

    it('the two example instances use four different ports and trust a local balancer', async () => {
      const variables = ['one', 'two'].map((name) => {
        const text = read(`${SEVERAL}/${name}.env`)
        expect(text).to.include(`/etc/mesh-companion/${name}.env`).and.include(`mesh-companion-sidecar@${name}`)
        return Object.fromEntries([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]))
      })
      const ports = variables.flatMap((item) => [item.SIDECAR_LISTEN_PORT, item.SIDECAR_ADMIN_PORT])
      expect(new Set(ports).size).to.equal(4)
      for (const entry of variables) {
        const settings = await sharedSettings(folder.path(), { ...entry, SIDECAR_INSTANCE: 'machine-one' })
        expect(settings.listen.port).to.equal(Number(entry.SIDECAR_LISTEN_PORT))
        expect(settings.admin.port).to.equal(Number(entry.SIDECAR_ADMIN_PORT))
        // A balancer on the same machine.
        expect(settings.listen.trustProxy).to.deep.equal([settings.listen.host])
      }
      expect(SEVERAL_MACHINES).to.include('one.env').and.include('two.env')
    })
  })

  describe('The compose file of several instances', () => {
    const compose = read(`${SEVERAL}/compose.yaml`)
    const balancer = read(`${SEVERAL}/haproxy.cfg`)
    const environment = {
      SIDECAR_LISTEN_HOST: '0.0.0.0',
      ...Object.fromEntries(
        [...compose.matchAll(/^ {2}(SIDECAR_\w+): (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
      ),
    }
    const names = [...compose.matchAll(/SIDECAR_INSTANCE: (\w+)/g)].map(([, name = '']) => name)

    // Shows: sidecar P1.9.
    it('compose.yaml starts three instances that reach PostgreSQL through a Unix socket', async () => {
      expect(names).to.deep.equal(['one', 'two', 'three'])
      for (const name of names) {
        expect(compose).to.include(`\n  ${name}:\n    <<: *sidecar\n`)
        const settings = await sharedSettings(folder.path(), { ...environment, SIDECAR_INSTANCE: name })
        expect(settings.instance).to.equal(name)
        expect(isLocal(readAddress(settings.database))).to.equal(true)
        expect(readAddress(settings.database).host).to.equal('/var/run/postgresql')
        expect(shownAddress(settings.database)).to.equal('/var/run/postgresql/mesh')
      }
      expect(compose)
        .to.include(`./:${dirname(CONFIG)}:ro`)
        .and.include('socket:/var/run/postgresql')
      expect(Number(/image: postgres:(\d+)/.exec(compose)?.[1])).to.be.at.least(15)
    })

    // Shows: sidecar P1.9.
    it('compose.yaml balances by client address, and instances trust only the balancer', async () => {
      const settings = await sharedSettings(folder.path(), environment)
      const servers = [...balancer.matchAll(/^ {2}server (\w+) (\S+)$/gm)].map(([, name, address]) => [name, address])
      expect(servers).to.deep.equal(names.map((name) => [name, `${name}:${settings.listen.port}`]))
      expect(balancer).to.include(`check port ${settings.admin.port} `).and.include('httpchk GET /readyz/api')
      expect(balancer).to.match(/^ {2}balance source$/m)
      expect(balancer).to.include('set-header X-Forwarded-For %[src]')
      const [, balancerAddress = ''] =
        /^ {2}balancer:\n(?: {4}.*\n)*? +inside: \{ ipv4_address: ([\d.]+) \}/m.exec(compose) ?? []
      expect(settings.listen.trustProxy).to.deep.equal([balancerAddress])
      // The balancer's address is outside the range for the addresses of all other containers.
      const [, network = '', range = ''] = /subnet: ([\d.]+)\/24, ip_range: ([\d.]+)\/25/.exec(compose) ?? []
      expect({ network, range }).to.deep.equal({ network: '172.31.250.0', range: '172.31.250.128' })
      expect(Number(balancerAddress.split('.').at(-1))).to.be.within(2, 127)
      // The balancer uses the operator's port. Other machines cannot reach the port.
      expect(settings.admin.host).to.equal('0.0.0.0')
      expect(compose.match(/ports: \["(?!127\.0\.0\.1:|443:443)/g)).to.equal(null)
    })

    // Shows: sidecar P1.17.
    it('compose.yaml runs from a copy outside the package, so upgrades keep the copy', () => {
      const [, copy = ''] = /^# {3}cp -r \/opt\/mesh-companion\/sidecar\/deploy\/several (\S+)$/m.exec(compose) ?? []
      expect(copy).to.match(/^\/srv\//)
      expect(compose).to.include(`docker compose -f ${copy}/compose.yaml up -d`)
      expect(SEVERAL_MACHINES)
        .to.include(`cp -r /opt/mesh-companion/sidecar/deploy/several ${copy}`)
        .and.include(`docker compose -f ${copy}/compose.yaml up -d`)
    })

    it('compose.yaml restricts its containers as the documents describe', () => {
      for (const line of ['init: true', 'read_only: true', 'cap_drop: [ALL]', 'no-new-privileges'])
        expect(compose).to.include(line)
      expect(compose).to.include(
        'docker build -f /opt/mesh-companion/sidecar/deploy/Dockerfile -t mesh-companion-sidecar /opt/mesh-companion',
      )
      expect(SEVERAL_MACHINES).to.include('sidecar/deploy/several/compose.yaml')
    })
  })

  describe('The Dockerfile', () => {
    const lines = read('sidecar/deploy/Dockerfile')
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
    const all = (instruction: string) =>
      lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.slice(instruction.length + 1))
    const only = (instruction: string) => {
      expect(all(instruction).length, instruction).to.equal(1)
      return all(instruction)[0] ?? ''
    }

    // Shows: sidecar C12.9.
    it('the Docker image contains only package files that .dockerignore allows', () => {
      const allowed = read('sidecar/deploy/Dockerfile.dockerignore').match(/(?<=^!).+$/gm) ?? []
      const copied = all('COPY')
        .filter((line) => !line.startsWith('--from'))
        .flatMap((line) => line.split(' ').slice(0, -1))
      expect(copied).to.have.members(allowed)
      // The folders of the sidecar's own package.
      expect(copied).to.have.members(['package.json', 'node_modules', 'dist/sidecar'])
    })

    it("the Docker image contains the build's output, and runs the package's command", () => {
      const [node, main] = JSON.parse(only('ENTRYPOINT'))
      expect(node).to.equal('node')
      expect(main).to.equal(PACKAGE.bin[COMMAND])
      expect(all('COPY')).to.include(`${dirname(main)} ${dirname(main)}`)
      expect(all('CMD')).to.deep.equal([JSON.stringify(['--config', CONFIG]).replace(',', ', ')])
    })

    // Shows: sidecar C12.9.
    it('the Docker image runs as non-root, keeps data on a volume, and stops on SIGTERM', () => {
      expect(only('USER')).to.match(/^[1-9]\d*:[1-9]\d*$/)
      expect(only('VOLUME')).to.equal(dirname(SAMPLE.database))
      expect(only('EXPOSE')).to.equal(String(SAMPLE.listen.port))
      expect(only('STOPSIGNAL')).to.equal('SIGTERM')
      expect(all('FROM').length).to.equal(2)
    })

    // Shows: sidecar C12.9.
    it('the health check of the Docker image fails unless /healthz answers 200', async () => {
      const [node, ...args]: string[] = JSON.parse(only('HEALTHCHECK').replace(/^.*? CMD /, ''))
      expect(node).to.equal('node')
      let healthy = true
      const admin = await serveOperatorPort({
        checkAlive: async () => {
          if (!healthy) throw new Error('no')
        },
      })
      const probe = async (port: string) => {
        const child = spawn(process.execPath, args, { env: { SIDECAR_ADMIN_PORT: port } })
        return (await once(child, 'close'))[0]
      }
      const { port } = new URL(admin.url)
      try {
        expect(await probe(port)).to.equal(0)
        healthy = false
        expect(await probe(port)).to.equal(1)
      } finally {
        await admin.close()
      }
      expect(await probe(port)).to.equal(1)
      expect(args.join(' ')).to.include('9090')
    })
  })
})
