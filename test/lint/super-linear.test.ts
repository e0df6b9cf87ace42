import { expect } from 'chai'
import { patternsIn } from './regular-expressions.ts'
import { superLinear } from './super-linear.ts'

const isLinear = ({ source, flags }: RegExp) => superLinear(source, flags) === undefined

describe('check for slow regular expressions', () => {
  // Shows: plugin 10.18.
  it('reports every regular expression that takes more than linear time for some text', () => {
    for (const pattern of [
      // This pattern let strangers stop the server: 350 ms for a path of 15,000 dots.
      /\/[^/?]*\.(?!ashx(?:[/?]|$))[^/?]*(?:\?|$)/i,
      /\s+$/,
      /\/+$/,
      /x.*y/s,
      /\/auth.*\/x/,
      /ab[a-z]*\d/,
      /^\S+@\S+$/,
      /^[^x]+\.css[^x]*x/,
      /^a[^x]+\.(?:css|js)(?:\?[^x]*)?x/,
      /(?:a|b.*)c.*d/,
      /(?:\w+\s?)*$/,
      /(?=.*a.*b)c/,
      /a{2000}b|[ab]{0,5000}c/,
    ])
      expect(isLinear(pattern), String(pattern)).to.equal(false)
  })

  // Shows: plugin 10.18.
  it('accepts regular expressions that take linear time for every text', () => {
    for (const pattern of [
      /"userid":"([^"]*)"/,
      /<[^<>]*>/g,
      /(?:^|;\s*)xid=([^;]*)/,
      /^\s*a+b$/,
      /^[^/.]+\.[^/]+$/,
      /[ ,]+/g,
      /a.*/,
      /^(?:[0-9a-f]{2}){1,100}$/i,
      /"[^"\\]*(?:\\.[^"\\]*)*"/y,
      /(?:^|[\s,])x\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/i,
    ])
      expect(isLinear(pattern), String(pattern)).to.equal(true)
  })

  it('finds regular expressions in literals and RegExp calls, with their line numbers', () => {
    const value = '$' + '{a}'
    const calls = [`new RegExp(\`^${value}\\\\s*$\`, 'i')`, "RegExp('y')", `RegExp(String.raw\`\\d${value}\`)`]
    const text = ['const a = /x+/g', ...calls, 'const b = 4 / 2 / 1'].join('\n')
    expect(patternsIn(text, 'a.ts')).to.deep.equal([
      { line: 1, pattern: 'x+', flags: 'g' },
      { line: 2, pattern: '^x\\s*$', flags: 'i' },
      { line: 3, pattern: 'y', flags: '' },
      { line: 4, pattern: '\\dx', flags: '' },
    ])
    expect(() => patternsIn('\nnew RegExp(given)', 'a.ts')).to.throw('a.ts:2')
  })
})
