import { ROOMS } from './rooms.mjs'

const { mutate } = ROOMS[process.env.MUTATION_ROOM as keyof typeof ROOMS]
const folder = mutate[0]?.replace(/\*.*/, '') as string

/** Loads each module of the room. */
export const loaders = Object.entries(import.meta.glob(['../src/**/*.ts', '!../src/**/*.web.ts']))
  .filter(([path]) => path.startsWith(`../${folder}`))
  .map(([, load]) => load)
