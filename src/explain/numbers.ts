/** Writes a number, given its source text and the name of the closest member that contains it. */
export type WriteNumber = (raw: string, member: string) => string

/** A finite number as ± d.ddd × 10^exponent, with the fewest digits that identify the double. */
interface Decimal {
  sign: '' | '-'
  digits: string
  exponent: number
  isWhole: boolean
  /** True for a literal without a fraction and an exponent. */
  isInteger: boolean
}

function toDecimal(literal: string): Decimal {
  // A double cannot have the value of 1e999, which some parsers replace by the largest double.
  const value = Math.min(Math.abs(Number(literal)), Number.MAX_VALUE)
  const [mantissa = '', exponent] = value.toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const isWhole = digits.length <= Number(exponent) + 1
  const sign = literal.startsWith('-') ? '-' : ''
  return { sign, digits, exponent: Number(exponent), isWhole, isInteger: /^-?\d+$/.test(literal) }
}

/** Writes all digits, without an exponent and without a fraction of zeros. */
function plain({ sign, digits, exponent }: Decimal): string {
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = sign + digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return digits.length > exponent + 1 ? `${whole}.${digits.slice(exponent + 1)}` : whole
}

/** How a program writes doubles: exponents from the first to the last are written without the letter e. */
interface Style {
  from: number
  to: number
  /** What precedes the digits of an exponent that is not negative, and the minimum number of its digits. */
  e: string
  pad?: number
  /** What follows a whole number, and a whole number in front of an exponent. */
  whole?: '.0'
  point?: '.0'
  /** True if integers are read as doubles too. */
  hasOnlyDoubles?: true
}

const STYLES: readonly Style[] = [
  { from: -6, to: 20, e: 'e+', hasOnlyDoubles: true }, // JavaScript
  { from: -4, to: 15, e: 'e+', pad: 2, whole: '.0' }, // Python
  { from: -4, to: 16, e: 'e+', point: '.0' }, // PHP
  { from: -3, to: 6, e: 'E', whole: '.0', point: '.0' }, // Java
  { from: -6, to: 20, e: 'e+' }, // Go
  { from: -4, to: 15, e: 'e+', pad: 2, whole: '.0', point: '.0' }, // Ruby
  { from: -4, to: 14, e: 'E+', pad: 2 }, // .NET
  { from: -4, to: 14, e: 'E+', pad: 2, whole: '.0' }, // Newtonsoft
]

function writeNumber(decimal: Decimal, isFloat: boolean, literal: string, style: Style): string {
  const { sign, digits, exponent, isWhole, isInteger } = decimal
  if (!isFloat && isWhole && !style.hasOnlyDoubles) return isInteger ? literal : plain(decimal)
  const { from, to, e, pad = 1, whole = '', point = '' } = style
  if (exponent >= from && exponent <= to) return isWhole ? plain(decimal) + whole : plain(decimal)
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits + point
  const letter = exponent < 0 ? `${e.charAt(0)}-` : e
  return sign + mantissa + letter + `${Math.abs(exponent)}`.padStart(pad, '0')
}

/** Maximum number of member names whose subsets are all tested, and of different numbers that are compared. */
const MAX_NAMES = 4
const MAX_COMPARED = 500

/** Returns the subsets of some member names, except the empty one. For many names, only all of them. */
function subsets(names: readonly string[]): ReadonlySet<string>[] {
  const all = [...new Set(names)]
  if (all.length > MAX_NAMES) return [new Set(all), ...all.slice(0, MAX_NAMES).map((name) => new Set([name]))]
  const masks = Array.from({ length: 2 ** all.length - 1 }, (_, index) => index + 1)
  return masks.map((mask) => new Set(all.filter((_, bit) => mask & (1 << bit))))
}

/** One way to write the numbers of a document. */
interface Numbers {
  value: WriteNumber
  cost: number
  says: string
}

type IsFloat = (decimal: Decimal, member: string) => boolean

/** Returns the ways to write the numbers of a document: as received, and in each style with some of them as floats. */
export function numbersOf(numbers: Iterable<readonly [raw: string, member: string]>): Numbers[] {
  const decimals = new Map<string, Decimal>()
  const examples = new Map<string, readonly [raw: string, member: string]>()
  const fractions = new Set<string>()
  const wholes = new Set<string>()
  for (const [raw, member] of numbers) {
    const decimal = toDecimal(raw)
    const { digits, exponent, isWhole, isInteger } = decimal
    decimals.set(raw, decimal)
    ;(isWhole ? wholes : fractions).add(member)
    const kind = [member, exponent, isInteger, digits.length > 1, plain(decimal) === raw].join()
    if (examples.size < MAX_COMPARED) examples.set(kind, [raw, member])
  }
  const floats: readonly (readonly [isFloat: IsFloat, cost: number, says: string])[] = [
    [({ isInteger }) => !isInteger, 0, ''],
    [
      (decimal, member) => !decimal.isInteger || fractions.has(member),
      1,
      'whole numbers as floats next to fractions',
    ],
    [() => true, 1, 'all numbers as floats'],
    [(decimal) => !decimal.isWhole, 1, 'whole numbers as integers'],
    ...subsets([...wholes]).map(
      (names) =>
        [
          (decimal: Decimal, member: string) => !decimal.isWhole || names.has(member),
          2,
          'some whole numbers as floats',
        ] as const,
    ),
  ]
  const options: Numbers[] = [{ value: (raw) => raw, cost: 0, says: '' }]
  const seen = new Set([Array.from(examples.values(), ([raw]) => raw).join(' ')])
  for (const [index, style] of STYLES.entries()) {
    for (const [isFloat, cost, says] of floats) {
      const written = new Map<string, string>()
      const value: WriteNumber = (raw, member) => {
        const decimal = decimals.get(raw) as Decimal
        const asFloat = isFloat(decimal, member)
        const id = `${raw} ${asFloat}`
        const known = written.get(id) ?? writeNumber(decimal, asFloat, raw, style)
        written.set(id, known)
        return known
      }
      const key = Array.from(examples.values(), ([raw, member]) => value(raw, member)).join(' ')
      if (seen.has(key)) continue
      seen.add(key)
      options.push({ value, cost: cost + (index > 3 ? 1 : 0), says: says && `with ${says}` })
    }
  }
  return options
}
