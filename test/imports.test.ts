import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

interface Import {
  readonly from: string
  readonly to: string
}

/** Every import in the source files below `folder`: local ones as paths from the root, packages by name. */
function importsBelow(folder: string): readonly Import[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const file = join(ROOT, folder, name)
      const from = relative(ROOT, file).split(sep).join('/')
      const specifiers = readFileSync(file, 'utf8').matchAll(/(?:\bfrom |\bimport\(|^import )'([^']+)'/gm)
      return [...specifiers].map(([, specifier = '']) => ({
        from,
        to: specifier.startsWith('.')
          ? relative(ROOT, join(dirname(file), specifier))
              .split(sep)
              .join('/')
          : specifier,
      }))
    })
}

const violations = (imports: readonly Import[], forbidden: (candidate: Import) => boolean) =>
  imports.filter(forbidden).map(({ from, to }) => `${from} imports ${to}`)

/** Returns the import cycles, each as the chain of its files. */
function circlesIn(imports: readonly Import[]): readonly string[] {
  const targets = new Map<string, string[]>()
  for (const { from, to } of imports) targets.set(from, [...(targets.get(from) ?? []), to])
  const done = new Set<string>()
  const circles: string[] = []
  const walk = (file: string, way: readonly string[]) => {
    if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' → '))
    if (way.includes(file) || done.has(file)) return
    for (const to of targets.get(file) ?? []) walk(to, [...way, file])
    done.add(file)
  }
  for (const file of targets.keys()) walk(file, [])
  return circles
}

describe('imports between modules', () => {
  const plugin = importsBelow('plugin')
  const sidecar = importsBelow('sidecar')
  const fixtures = importsBelow('fixtures')

  it('this test finds over 20 imports each in plugin, sidecar and fixtures', () => {
    for (const imports of [plugin, sidecar, fixtures]) expect(imports.length).to.be.above(20)
  })

  // Shows: sidecar 1.2.
  it('plugin and sidecar import neither each other nor fixtures or tests', () => {
    expect(violations(plugin, ({ to }) => /^(sidecar|fixtures|test)\//.test(to))).to.deep.equal([])
    expect(violations(sidecar, ({ to }) => /^(plugin|fixtures|test)\//.test(to))).to.deep.equal([])
  })

  it('fixtures import the plugin and the sidecar only by their public modules', () => {
    const faces = ['plugin/index.ts', 'sidecar/index.ts', 'sidecar/client/index.ts']
    // The script that packs the plugin is exempt: it compiles the plugin's schema, which no public module exports.
    const fixtureImports = fixtures.filter(({ from }) => !from.startsWith('fixtures/meshcentral-package/'))
    expect(
      violations(fixtureImports, ({ to }) => /^(plugin|sidecar|test)\//.test(to) && !faces.includes(to)),
    ).to.deep.equal([])
  })

  it('fixtures/testing.ts imports only packaged files and dependencies of the package', () => {
    const kit = new Set(['fixtures/testing.ts'])
    for (const file of kit) for (const { from, to } of fixtures) if (from === file) kit.add(to)
    const files = [...kit].filter((file) => file.endsWith('.ts'))
    expect(files.length).to.be.above(25)
    expect(
      files.filter((file) => !/^fixtures\/(idp|aprsis|push|browser)\/|^fixtures\/[\w-]+\.ts$/.test(file)),
    ).to.deep.equal([])
    const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
      'dependencies' | 'peerDependencies',
      Record<string, string>
    >
    const installed = [...Object.keys(dependencies), ...Object.keys(peerDependencies)]
    const packages = [...kit].filter((name) => !name.endsWith('.ts') && !name.startsWith('node:'))
    expect(packages).to.include('oidc-provider')
    expect(packages.filter((name) => !installed.includes(name))).to.deep.equal([])
  })

  /** Modules of a half, the highest layer first, and the files at its root that all of them may import. */
  const layers = {
    plugin: {
      modules: [
        'meshcentral',
        'doctor',
        'mount',
        'routes',
        'sessions',
        'provider',
        'presets',
        'login',
        'host',
        'config',
      ],
      open: ['clock', 'errors', 'log'],
      faces: ['index', 'meshcentral', 'check', 'command', 'required-node'],
    },
    sidecar: {
      modules: ['operator', 'api', 'aprsis', 'push', 'store', 'messages', 'config', 'client', 'aprs'],
      open: ['clock', 'errors', 'exposition', 'log', 'metrics'],
      faces: ['compose', 'index', 'command-line', 'main', 'start', 'command', 'required-node'],
    },
  } as const

  for (const [half, imports] of [
    ['plugin', plugin],
    ['sidecar', sidecar],
  ] as const) {
    const { modules, open, faces } = layers[half]
    const shared = open.map((name) => `${half}/${name}.ts`)

    it(`the list of layers in this test has each folder and root file of the ${half}`, () => {
      const names = readdirSync(join(ROOT, half), { recursive: true, encoding: 'utf8' })
      const sources = names.filter((name) => name.endsWith('.ts')).map((name) => name.split(sep))
      const folders = new Set(sources.filter(({ length }) => length > 1).map(([folder]) => folder))
      const files = sources.filter(({ length }) => length === 1).map(([name]) => name?.slice(0, -3))
      expect([...folders]).to.have.members(modules)
      expect(files).to.have.members([...open, ...faces])
    })

    for (const [index, name] of modules.entries()) {
      it(`${half}/${name} imports only lower layers`, () => {
        const below = modules.slice(index).map((module) => `${half}/${module}/`)
        const wrong = violations(imports, ({ from, to }) => {
          if (!from.startsWith(`${half}/${name}/`) || !to.startsWith(`${half}/`)) return false
          return !shared.includes(to) && !below.some((layer) => to.startsWith(layer))
        })
        expect(wrong).to.deep.equal([])
      })
    }

    it(`root files for use in all layers of the ${half} import only each other`, () => {
      const wrong = violations(
        imports,
        ({ from, to }) => shared.includes(from) && to.startsWith(`${half}/`) && !shared.includes(to),
      )
      expect(wrong).to.deep.equal([])
    })
  }

  // Shows: sidecar C15.5.
  it('sidecar/client imports no package, and only types from other folders', () => {
    const files = readdirSync(join(ROOT, 'sidecar/client')).filter((name) => name.endsWith('.ts'))
    const outside = files.flatMap((name) => {
      const text = readFileSync(join(ROOT, 'sidecar/client', name), 'utf8')
      return [...text.matchAll(/^(import|export) (type )?[^;']*?from '(?!\.\/[\w-]+\.ts)([^']+)'/gm)].map(
        ([, , type, specifier]) => `${name} ${type ? 'types of' : 'runs'} ${specifier}`,
      )
    })
    expect(outside.filter((violation) => !/ types of \.\.?\/(wire\/[\w-]+|errors)\.ts$/.test(violation))).to.deep.equal(
      [],
    )
    expect(outside.length).to.be.above(3)
    expect(
      violations(
        sidecar,
        ({ from, to }) => /^sidecar\/client\/[\w-]+\.ts$/.test(to) && !/^sidecar\/client\//.test(from),
      ),
    ).to.deep.equal([])
  })

  it('only the composition root and commands import a store; no store imports another', () => {
    const adapters = /^sidecar\/store\/(sqlite|postgres)\//
    const wrong = violations(sidecar, ({ from, to }) => {
      const home = adapters.exec(to)?.[0]
      return home !== undefined && !from.startsWith(home) && !/^sidecar\/(compose\.ts|operator\/commands\/)/.test(from)
    })
    expect(wrong).to.deep.equal([])
  })

  it("there is no import cycle, not even of types or between the sidecar's folders", () => {
    expect(circlesIn([...plugin, ...sidecar, ...fixtures])).to.deep.equal([])
    const between = sidecar.map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }))
    const folders = between.filter(({ from, to }) => from !== to && from !== 'sidecar' && /^sidecar\//.test(to))
    expect(circlesIn(folders)).to.deep.equal([])
  })

  it('plugin/provider/authorization imports nothing from plugin/provider/answers', () => {
    const wrong = violations(
      plugin,
      ({ from, to }) => from.startsWith('plugin/provider/authorization/') && to.startsWith('plugin/provider/answers/'),
    )
    expect(wrong).to.deep.equal([])
  })

  it('each library for push, database or OpenID Connect is imported by only one folder', () => {
    const keepers: Record<string, RegExp> = {
      'firebase-admin': /^sidecar\/push\/fcm\//,
      'google-auth-library': /^sidecar\/push\/fcm\//,
      'node-apn': /^sidecar\/push\/apns\//,
      pg: /^sidecar\/store\/postgres\//,
      sqlite3: /^sidecar\/store\/sqlite\//,
      'web-push': /^sidecar\/push\/web-push\//,
      'node-cron': /^sidecar\/operator\/housekeeping\//,
      'openid-client': /^plugin\/provider\//,
      'https-proxy-agent': /^plugin\/provider\/http\//,
      'proxy-from-env': /^(plugin\/provider\/http|sidecar\/push)\//,
    }
    for (const [name, home] of Object.entries(keepers)) {
      const wrong = violations(
        [...plugin, ...sidecar],
        ({ from, to }) => (to === name || to.startsWith(`${name}/`)) && !home.test(from),
      )
      expect(wrong, name).to.deep.equal([])
    }
  })
})
