import { expect, it } from 'vitest'
import { ROOMS } from './rooms.mjs'

const { mutate } = ROOMS[process.env.MUTATION_ROOM as keyof typeof ROOMS]
const folder = mutate[0]?.replace(/\*.*/, '') as string

// A change that keeps a module from loading fails whole test files but no test, so that Stryker calls it unnoticed.
it('the modules of the room can be loaded', async () => {
  const modules = Object.entries(import.meta.glob(['../src/**/*.ts', '!../src/**/*.web.ts']))
  const own = modules.filter(([path]) => path.startsWith(`../${folder}`))
  expect(own.length).toBeGreaterThan(0)
  for (const [, load] of own) await load()
})
