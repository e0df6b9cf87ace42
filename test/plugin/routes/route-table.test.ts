import { expect } from 'chai'
import express, { type Application } from 'express'
import { mountRoutes } from '../../../plugin/routes/route-table.ts'

describe('the routes of the plugin', () => {
  it('are none on a server without a domain of ours: Express 4 takes an empty list of paths for all of them', () => {
    const asked: string[] = []
    const note = (name: string) => () => asked.push(name)
    const app = { get: note('get'), post: note('post'), use: note('use') } as unknown as Application
    mountRoutes(app, [], {} as never, () => '', express.urlencoded)
    expect(asked).to.deep.equal([])
  })
})
