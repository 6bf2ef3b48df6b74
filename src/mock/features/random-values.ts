import type { Random } from './random.ts'

/** A field, as the description of a layer has it. */
export interface RandomField {
  name: string
  type: string
  /** Maximum length of a text in characters. */
  length?: number | undefined
  /** Default true. */
  nullable?: boolean | undefined
  /** Default true. */
  editable?: boolean | undefined
  /** Fields with a domain keep their values. */
  domain?: object | null | undefined
}

const WORDS: readonly string[] = [
  'oak',
  'north gate',
  'Königstraße 4',
  'to be checked',
  'new fence',
  'surveyed again',
  "owner's copy",
  'pump 7',
]
const FIRST_DAY = Date.UTC(2020, 0, 1)
const DAYS = 2000
const DAY = 86_400_000

const VALUES: Readonly<Record<string, (random: Random, field: RandomField) => string | number>> = {
  esriFieldTypeString: (random, { length = 256 }) =>
    `${random.pick(WORDS)} ${random.whole(1, 999)}`.slice(0, length),
  esriFieldTypeSmallInteger: (random) => random.whole(-1000, 1000),
  esriFieldTypeInteger: (random) => random.whole(-100_000, 100_000),
  esriFieldTypeBigInteger: (random) => random.whole(-1_000_000, 1_000_000),
  esriFieldTypeSingle: (random) => random.whole(-1000, 1000) / 4,
  esriFieldTypeDouble: (random) => random.whole(-100_000, 100_000) / 100,
  esriFieldTypeDate: (random) => FIRST_DAY + random.whole(0, DAYS) * DAY + random.whole(0, DAY - 1),
  esriFieldTypeGUID: (random) => createGuid(random),
}

/** Fields that get random values. */
export const canHaveValue = ({ type, editable = true, domain }: RandomField): boolean =>
  editable && !domain && Object.hasOwn(VALUES, type)

/** A value for a field of {@link canHaveValue}; sometimes null if the field can be null. */
export function createValue(random: Random, field: RandomField): string | number | null {
  if (field.nullable !== false && random.chance(0.1)) return null
  return VALUES[field.type]?.(random, field) ?? null
}

function createGuid(random: Random): string {
  const digits = Array.from({ length: 32 }, () => random.whole(0, 15).toString(16).toUpperCase()).join('')
  return `{${[
    [0, 8],
    [8, 12],
    [12, 16],
    [16, 20],
    [20, 32],
  ]
    .map(([start, end]) => digits.slice(start, end))
    .join('-')}}`
}
