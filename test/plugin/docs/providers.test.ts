import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { KNOWN_PROVIDERS } from '../../../plugin/doctor/live/providers/known-providers.ts'
import { outcomeOf, RENEWALS, type RenewalCase } from '../../idps/support/renewals.ts'
import { codeBlocks, type Document, readDocument, readDocuments, section, tableRows } from '../../support/documents.ts'

const FOLDER = 'plugin/docs/providers/'
const PAGES = readDocuments().filter(({ path }) => path.startsWith(FOLDER) && !path.endsWith('/README.md'))
const LIST = readDocument(`${FOLDER}README.md`)
const ADAPTERS = fileURLToPath(new URL('../../idps/providers/', import.meta.url))

/** The tested providers except the fixture's own, which has no page. */
const TESTED = readdirSync(ADAPTERS)
  .filter((name) => name.endsWith('.test.ts') && !name.startsWith('oidc-provider'))
  .map((name) => name.replace('.test.ts', ''))

const SECTIONS = [
  'Issuer address',
  'Setup',
  'Configuration',
  'Groups',
  'Sign-out',
  'When a session ends',
  'Differences',
]

const titleOf = ({ text }: Document) => /^# (.+)$/m.exec(text)?.[1] ?? ''
/** Returns the paragraph that says how the page was tested. */
const markOf = ({ text }: Document) =>
  text.split('\n\n').find((paragraph) => /^\*\*(?:Run|From)\b/.test(paragraph)) ?? ''
/** Returns the version that was tested, according to the page. */
const versionOf = (page: Document) => /^\*\*Run\*\* with .*?(\d+(?:\.\d+)+)/.exec(markOf(page))?.[1]

describe('documentation pages of identity providers', () => {
  it("the provider list links each provider's page and states the tested version", () => {
    const rows = tableRows(LIST)
    const listed = rows.map(([link = '']) => /\[(.+)\]\((.+)\)/.exec(link)?.slice(1) ?? [])
    expect(listed).to.have.deep.members(PAGES.map((page) => [titleOf(page), page.path.slice(FOLDER.length)]))
    for (const [link = '', version = ''] of rows) {
      const page = PAGES.find((candidate) => link.includes(`(${candidate.path.slice(FOLDER.length)})`))
      if (page && versionOf(page)) expect(version.split(',')[0], link).to.equal(versionOf(page))
    }
  })

  it("each provider's page says how the provider was tested or links a vendor's page", () => {
    for (const page of PAGES) {
      expect(markOf(page), page.path)
        .to.match(/^\*\*(?:Run\*\* with|Run by hand\*\* with|From )/)
        .and.match(page.path.endsWith('keycloak.md') ? /npm run test:idps/ : /\]\(https:\/\//)
    }
  })

  it("all providers' pages have the same sections and begin with a full configuration", () => {
    for (const { path, text } of PAGES) {
      const [config = ''] = codeBlocks(text, 'json')
      expect(JSON.parse(config), path).to.have.nested.property('domains')
      const headings = [...text.matchAll(/^## (Setup|.+)/gm)].map(([, heading]) => heading)
      expect(headings, path).to.deep.equal(SECTIONS)
    }
  })

  it("providers' pages state which version of the provider the tests run", () => {
    const sources = readdirSync(ADAPTERS, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(`${ADAPTERS}${name}`, 'utf8'))
    const stated = sources.flatMap((text) =>
      [...text.matchAll(/VERSION = '([\d.]+)'/g)].map(([, version = '']) => version),
    )
    expect(stated.length).to.be.at.least(4)
    const claimed = PAGES.flatMap((page) => versionOf(page) ?? [])
    expect(claimed).to.include.members(stated)
    // Debian determines the versions of LemonLDAP::NG and Glewlwyd.
    const named = PAGES.filter((page) => {
      const version = versionOf(page)
      return version !== undefined && !stated.includes(version)
    })
    expect(named.map(titleOf)).to.have.members(['LemonLDAP::NG', 'Glewlwyd'])
    const front = tableRows(section(readDocument('README.md'), '## Tests'))
    for (const page of PAGES) {
      const version = versionOf(page)
      if (version !== undefined)
        expect(front.find(([name]) => name === titleOf(page))?.[1], page.path).to.equal(version)
    }
  })

  it('pages of tested providers list the same cases in which a session ends', () => {
    for (const name of TESTED) {
      const page = PAGES.find(({ path }) => path.startsWith(FOLDER + name))
      const events = tableRows(section(page?.text ?? '', '## When a session ends')).map(([event]) => event)
      expect(events, name).to.deep.equal(Object.values(RENEWALS))
      // Checks only that each outcome can be read. The tests of each provider check whether it is true.
      for (const row of Object.keys(RENEWALS)) outcomeOf(page ? titleOf(page) : '', row as RenewalCase)
    }
  })

  // Shows: plugin 9.49.
  it('each provider that --live recognizes is listed, and has a page and a test', () => {
    const [, recognized = ''] = /It recognizes ([^.]+)\./.exec(readDocument('plugin/docs/configuration.md')) ?? []
    const names = KNOWN_PROVIDERS.map(({ name }) => name)
    expect(recognized.split(/, | and /)).to.have.members(names)
    expect(PAGES.map(titleOf)).to.include.members(names)
    const tests = readdirSync(fileURLToPath(new URL('../providers/', import.meta.url)))
    for (const page of PAGES.filter((candidate) => names.includes(titleOf(candidate)))) {
      expect(tests, page.path).to.include(`${page.path.slice(FOLDER.length, -'.md'.length)}.test.ts`)
    }
  })

  // Shows: plugin 2.12.
  it('the provider list marks exactly the providers whose configuration a test runs', () => {
    const tests = readdirSync(fileURLToPath(new URL('../providers/', import.meta.url)))
    const pages = tableRows(LIST).flatMap(([link = '', , against = '']) =>
      against.includes("runs the page's configuration") ? [/\((.+)\.md\)/.exec(link)?.[1]] : [],
    )
    expect(tests.filter((name) => name.endsWith('.test.ts'))).to.have.members(pages.map((name) => `${name}.test.ts`))
  })
})
