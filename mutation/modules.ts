import { AREAS } from './areas.mjs'

const { mutate } = AREAS[process.env.MUTATION_AREA as keyof typeof AREAS]
const folder = mutate[0]?.replace(/[*!{].*/, '') as string

/** Functions that each import a module of the area. */
export const loaders = Object.entries(import.meta.glob(['../src/**/*.ts', '!../src/**/*.web.ts']))
  .filter(([path]) => path.startsWith(`../${folder}`))
  .map(([, load]) => load)
