import { expect } from 'chai'
import { readInstallation } from '../../../plugin/doctor/check-installation.ts'
import { MEMBERS } from '../../../plugin/doctor/meshcentral-members.ts'

const HOOK = "parent.pluginHandler.callHook('hook_setupHttpHandlers', obj, parent)"
const LOGIN = "obj.app.get(url + 'login', handleRootRequest)"

/** Returns sources that have everything single sign-on relies on. test/meshcentral reads the real ones. */
function sources(): Map<string, string> {
  const files = new Map<string, string>()
  const add = (file: string, ...lines: readonly string[]) =>
    files.set(file, `${files.get(file) ?? ''}${lines.join('\n')}\n`)
  for (const { file, functions, objects } of Object.values(MEMBERS)) {
    add(file, ...[...functions, ...objects].map((name) => `obj.${name} = null;`))
  }
  add('webserver.js', "use(require('cookie-session')())", 'req.xdomain = 1;', 'req.clientIp = 2;', HOOK, LOGIN)
  add('meshcentral.js', "callHook('server_startup')", 'parent.decodeCookie(text)')
  return files.set('package.json', '{"name":"meshcentral","version":"1.1.55"}')
}

const read = (files: ReadonlyMap<string, string>, folder = '/mesh') =>
  readInstallation(folder, '9.9.9', {
    list: () => [...files.keys()],
    read: (file) => {
      const text = files.get(file.replace('/mesh/node_modules/meshcentral/', ''))
      if (text === undefined) throw new Error('ENOENT')
      return text
    },
  })

describe('check of a MeshCentral installation', () => {
  // Shows: plugin 9.31.
  it("finds a MeshCentral installation from its root or from MeshCentral's own folder", () => {
    for (const folder of ['/mesh', '/mesh/node_modules/meshcentral']) {
      const { isFine, text } = read(sources(), folder) ?? {}
      expect(isFine).to.equal(true)
      expect(text).to.match(/^mesh-companion 9\.9\.9, MeshCentral 1\.1\.55 \(tested\), Node\.js v/)
      expect(text).to.match(/there: (\d+) of \1 parts/)
    }
  })

  // Shows: plugin 9.31.
  it('names the tested versions if the installed MeshCentral is not one of them', () => {
    const text = read(sources().set('package.json', '{"name":"meshcentral","version":"1.2.5"}'))?.text
    expect(text).to.include('MeshCentral 1.2.5 (tested: 1.1.51, 1.1.55)')
  })

  const moved = (file: string, from: string, to: string) => (files: Map<string, string>) =>
    files.set(file, (files.get(file) ?? '').replace(from, to))
  const rows: readonly (readonly [line: string, change: (files: Map<string, string>) => unknown])[] = [
    ['unknown: server.generateCookieKey: ', moved('meshcentral.js', 'generateCookieKey', 'makeCookieKey')],
    [
      'moved: web.users: in webserver/state.js, not in webserver.js',
      (files) => moved('webserver.js', 'obj.users', 'obj.people')(files.set('webserver/state.js', 'obj.users = {}')),
    ],
    ['unknown: db.Get: ', moved('db.js', 'obj.Get =', 'obj.get =')],
    ['unknown: req.session: ', moved('webserver.js', 'cookie-session', 'express-session')],
    ['unknown: req.clientIp: ', moved('webserver.js', 'req.clientIp', 'req.address')],
    ['unknown: hook_setupHttpHandlers: ', moved('webserver.js', HOOK, '')],
    [
      'moved: hook_setupHttpHandlers: after the routes',
      moved('webserver.js', `${HOOK}\n${LOGIN}`, `${LOGIN}\n${HOOK}`),
    ],
    [
      'moved: calls of encodeCookie and decodeCookie: referenced instead of called in meshuser.js',
      (files) => files.set('meshuser.js', 'const open = parent.decodeCookie;'),
    ],
  ]
  for (const [line, change] of rows)
    it(`reports a MeshCentral change that breaks the plugin: ${line}`, () => {
      const files = sources()
      change(files)
      const { isFine, text } = read(files) ?? {}
      expect(isFine).to.equal(false)
      expect(text?.split('\n').filter((part) => part.includes(line))).to.have.length(1)
      expect(text?.match(/moved|unknown/g)).to.have.length(1)
    })

  it('finds no MeshCentral installation if no package is named meshcentral', () => {
    for (const files of [new Map(), sources().set('package.json', '{"name":"other"}')])
      expect(read(files)).to.equal(undefined)
  })
})
