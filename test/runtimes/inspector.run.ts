import { join } from 'node:path'
import { expect, inject, it } from 'vitest'
import { startProgram } from '../helpers/process.ts'
import { bun, deno } from './runtimes.ts'

const node = (version: number) => [`Node ${version}`, `node${version}/bin/node`, []] as const

// These tests are not in a `describe`, because `contract/matrix.ts` prints each `describe` as a column of the contract.
it.each([node(20), node(26), ['Bun', bun.bin, bun.args], ['Deno', deno.bin, deno.args]] as const)(
  'the inspector shows and explains deliveries on %s',
  async (_, bin, args) => {
    const program = join(import.meta.dirname, 'node_modules', bin)
    const started = startProgram(program, [...args, join(inject('appFolder'), 'inspector.mjs')])
    expect([await started.exited, started.output]).toEqual([0, expect.any(String)])
    expect(JSON.parse(started.stdout)).toEqual({
      hooks: [200, 401],
      withoutLogin: 401,
      cause: 'key_whitespace',
      body: 1,
      style: 'text/css; charset=utf-8',
      live: true,
    })
  },
)
