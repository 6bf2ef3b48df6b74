import { AREAS } from './areas.mjs'

const { mutate } = AREAS[process.env.MUTATION_AREA as keyof typeof AREAS]
/** The start of each pattern, without its wildcards. */
const prefixes = mutate.map((pattern) => `../${pattern.replace(/[*!{].*/, '')}`)

/** Functions that each import a module of the area. */
export const loaders = Object.entries(import.meta.glob(['../src/**/*.ts', '!../src/**/*.web.ts']))
  .filter(([path]) => prefixes.some((prefix) => path.startsWith(prefix)))
  .map(([, load]) => load)
