import { expect } from 'chai'
import { LOGIN_ERRORS } from '../../plugin/errors.ts'
import { printableText } from '../../plugin/log.ts'

describe('remedies', () => {
  it('fit into a log line as they are', () => {
    for (const [code, { remedy }] of Object.entries(LOGIN_ERRORS)) expect(printableText(remedy), code).to.equal(remedy)
  })
})
