import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { thirdPartyLicenses } from '../../packaging/third-party-licenses.ts'
import { createFolder } from '../support/file-folder.ts'
import { messageOf } from '../support/message-of.ts'

type Files = Readonly<Record<string, string>>

describe('the licenses of third parties', () => {
  let folder: Awaited<ReturnType<typeof createFolder>>
  beforeEach(async () => {
    folder = await createFolder('licenses')
  })
  afterEach(() => folder.remove())

  async function addPackage(name: string, manifest: object, files: Files = {}): Promise<string> {
    const path = `node_modules/${name}`
    await mkdir(join(folder.path, path), { recursive: true })
    await folder.write(`${path}/package.json`, JSON.stringify({ name, version: '1.2.3', ...manifest }))
    for (const [file, text] of Object.entries(files)) await folder.write(`${path}/${file}`, text)
    return path
  }
  const listed = (...files: readonly string[]) => thirdPartyLicenses('Contains these packages.', files, folder.path)

  it('license notices have LICENSE and NOTICE of each package once, in order of names', async () => {
    const odd = await addPackage('@scope/odd', { license: 'Apache-2.0' }, { NOTICE: 'Made by A.', LICENSE: 'Terms.' })
    const even = await addPackage(
      'even',
      { license: 'MIT', author: { name: 'B' } },
      { 'LICENCE.md': 'More terms.\r\n' },
    )
    const text = await listed(`${even}/lib/b.js`, `${odd}/a.js`, `${odd}/lib/a.js`, 'plugin/index.ts')
    expect(text.split(`${'-'.repeat(80)}\n`)).to.deep.equal([
      'Contains these packages.\n\n',
      '@scope/odd 1.2.3\nLicense: Apache-2.0\n\nTerms.\n\nMade by A.\n\n',
      'even 1.2.3\nLicense: MIT\nAuthor: B\n\nMore terms.\n',
    ])
  })

  it('license notices list the innermost package if one is inside another', async () => {
    const inner = await addPackage('outer/node_modules/inner', { name: 'inner', license: 'MIT' }, { LICENSE: 'Inner.' })
    expect(await listed(`${inner}/index.js`))
      .to.include('inner 1.2.3')
      .and.not.include('outer 1.2.3')
  })

  it('license notices quote the README if a package has its license there', async () => {
    const license = 'Copyright (c) 2020 C\n\nPermission is hereby granted, free of charge'
    const path = await addPackage('told', { license: 'MIT' }, { 'Readme.md': `# told\n\n## License\n\n${license}` })
    expect(await listed(path)).to.match(/^told 1\.2\.3\nLicense: MIT\n\nCopyright \(c\) 2020 C\n/m)
    expect(await listed(path)).not.to.include('# told')
  })

  it('license notices have the standard text of MIT if a package ships no text', async () => {
    const path = await addPackage('bare', { license: 'MIT', author: 'D' })
    expect(await listed(path)).to.match(/Copyright \(c\) D\n\nPermission is hereby granted[\s\S]+SOFTWARE\.\n$/)
  })

  it('license notices refer to the Apache-2.0 of another package if one ships no text', async () => {
    const bare = await addPackage('bare', { license: 'Apache-2.0' })
    const whole = await addPackage('whole', { license: 'Apache-2.0' }, { LICENSE: 'Apache License' })
    expect(await listed(bare, whole)).to.include('The text of Apache-2.0 is below whole 1.2.3.')
  })

  it('license notices name the package if no license text can be found', async () => {
    const path = await addPackage('@scope/odd', { license: 'Apache-2.0' })
    expect(await messageOf(listed(path))).to.match(/^@scope\/odd 1\.2\.3 has no license file \(Apache-2\.0\)\. Use/)
  })
})
