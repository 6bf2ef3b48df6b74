import { parse } from './flaw.ts'

export const run = (input) => void parse(input)
