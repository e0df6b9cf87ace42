import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { copyProject, type ProjectCopy } from './support/project-copy.ts'
import { useWine, windowsPath } from './support/wine.ts'

const CONFIG = {
  settings: { cert: 'mesh.example', plugins: { enabled: true, list: ['meshcompanion'] } },
  domains: {
    '': {
      authStrategies: {
        oidc: { issuer: 'https://idp.example', client: { client_id: 'mesh', client_secret: 'a secret of the tests' } },
      },
    },
  },
}

describe('The scripts of the package in cmd.exe', () => {
  const wine = useWine()
  let project: ProjectCopy
  before(async function () {
    this.timeout(600_000)
    project = await copyProject(wine())
  })

  it('npm run pack:meshcentral works in cmd.exe', async () => {
    const { code, stderr } = await project.npm('run', 'pack:meshcentral')
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    await access(join(project.path, 'dist/meshcentral-plugin/meshcompanion/THIRD-PARTY-LICENSES'))
    await access(join(project.path, 'dist/meshcentral-plugin/meshcompanion.zip'))
  })

  it('accepts a configuration saved by Notepad, at a Windows path with spaces', async () => {
    const file = join(project.path, 'my config.json')
    const text = JSON.stringify(CONFIG, null, 2).replaceAll('\n', '\r\n')
    await writeFile(file, `\uFEFF${text}`)
    const { code, stdout } = await project.npm('run', 'check', '--', windowsPath(file), '--meshcentral')
    expect(code, stdout).to.equal(0)
    expect(stdout).to.include('https://mesh.example/auth-oidc-callback')
  })

  it('npm run check returns its exit code to cmd.exe', async () => {
    expect((await project.npm('run', 'check', '--', 'Z:\\nothing here.json')).code).to.equal(2)
  })
})
