import { symlink } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { Application } from 'express'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { startIdp } from '../../../fixtures/idp/server.ts'
import type { Oidc } from '../../../plugin/index.ts'
import { codeBlocks, readDocument, section } from '../../support/documents.ts'
import { createFolder } from '../../support/file-folder.ts'
import { onLoopback } from '../../support/on-loopback.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PAGE = readDocument('plugin/docs/your-own-server.md')
const CLIENT = { client_id: 'mesh', client_secret: 'a client secret of the tests' }

describe("the documents' example of a protected page", () => {
  // Shows: plugin 9.47.
  it('a user signs in at the twelve-line server in the documents', async () => {
    const [code = ''] = codeBlocks(section(PAGE, '## Protect a page: `requiresAuth(oidc)`'), 'js')
    expect(code.trimEnd().split('\n')).to.have.length(12)
    const folder = await createFolder('protected-page')
    const server = createServer()
    const { url, close } = await onLoopback(server)
    const redirectUri = `${url}/auth-oidc-callback`
    const idp = await startIdp({ clients: [{ ...CLIENT, redirect_uris: [redirectUri] }] })
    const browser = new ScriptedBrowser()
    const secret = process.env.SESSION_SECRET
    const closing: (() => Promise<void>)[] = [idp.close, close, folder.remove]
    try {
      const oidc = { issuer: idp.issuer, client: { ...CLIENT, redirect_uri: redirectUri }, newAccounts: true }
      const config = { settings: { cert: '127.0.0.1' }, domains: { '': { authStrategies: { oidc } } } }
      await folder.write('config.json', JSON.stringify(config))
      await symlink(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
      // The test itself listens, because the redirect address must name the port beforehand.
      const text = code
        .replace("'mesh-companion/plugin'", `'${ROOT}plugin/index.ts'`)
        .replace("'accounts.sqlite'", "':memory:'")
        .replace('console.log', '() => undefined')
        .replace('app.listen(3000)', 'export { app, oidc }')
      process.env.SESSION_SECRET = 'of the tests, with 32 characters or more'
      const file = await folder.write('server.mjs', text)
      const started = (await import(pathToFileURL(file).href)) as { app: Application; oidc: Oidc }
      closing.unshift(started.oidc.close)
      server.on('request', started.app)
      const page = await browser.signIn(await browser.get(`${url}/`), 'alice', 'alice-demo')
      expect(page.url).to.equal(`${url}/`)
      expect(JSON.parse(page.body)).to.include({ name: 'Alice Example' })
    } finally {
      if (secret === undefined) delete process.env.SESSION_SECRET
      else process.env.SESSION_SECRET = secret
      browser.close()
      for (const step of closing) await step()
    }
  })
})
