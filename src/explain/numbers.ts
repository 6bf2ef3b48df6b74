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
  const [, whole = '', fraction = '', power = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(`${value}`) ?? []
  const all = (whole + fraction).replace(/^0+(?=.)/, '')
  const exponent = Number(power) + whole.length - 1 - (whole.length + fraction.length - all.length)
  let end = all.length
  while (end > 1 && all[end - 1] === '0') end--
  const digits = all.slice(0, end)
  const sign = literal.startsWith('-') ? '-' : ''
  return {
    sign,
    digits,
    exponent,
    isWhole: digits.length <= exponent + 1,
    isInteger: /^-?\d+$/.test(literal),
  }
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
  /** What precedes the digits of an exponent, for example `e+` and `e-`, and the minimum number of its digits. */
  e: string
  pad?: number
  /** What follows a whole number, and a whole number in front of an exponent. */
  whole?: '.0'
  point?: '.0'
  /** True if integers are read as doubles too. */
  hasOnlyDoubles?: true
}

const STYLES: Readonly<Record<string, Style>> = {
  JavaScript: { from: -6, to: 20, e: 'e+', hasOnlyDoubles: true },
  Python: { from: -4, to: 15, e: 'e+', pad: 2, whole: '.0' },
  PHP: { from: -4, to: 16, e: 'e+', point: '.0' },
  'PHP zeros': { from: -4, to: 16, e: 'e+', whole: '.0', point: '.0' },
  Java: { from: -3, to: 6, e: 'E', whole: '.0', point: '.0' },
  Go: { from: -6, to: 20, e: 'e+' },
  Ruby: { from: -4, to: 15, e: 'e+', pad: 2, whole: '.0', point: '.0' },
  '.NET': { from: -4, to: 14, e: 'E+', pad: 2 },
  Newtonsoft: { from: -4, to: 14, e: 'E+', pad: 2, whole: '.0' },
  jq: { from: -4, to: 16, e: 'e+', pad: 2, hasOnlyDoubles: true },
  PostgreSQL: { from: -400, to: 400, e: 'e+' },
  Swift: { from: -4, to: 15, e: 'e+', pad: 2 },
  Rust: { from: -5, to: 15, e: 'e', whole: '.0' },
}

function writeNumber(decimal: Decimal, isFloat: boolean, literal: string, style: Style): string {
  const { sign, digits, exponent, isWhole, isInteger } = decimal
  if (!isFloat && isWhole && !style.hasOnlyDoubles) return isInteger ? literal : plain(decimal)
  const { from, to, e, pad = 1, whole = '', point = '' } = style
  if (exponent >= from && exponent <= to) return isWhole ? plain(decimal) + whole : plain(decimal)
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits + point
  const letter = exponent < 0 ? `${e.charAt(0)}-` : e
  return sign + mantissa + letter + `${Math.abs(exponent)}`.padStart(pad, '0')
}

/** Maximum number of member names whose subsets are all tested. */
const MAX_NAMES = 4

/** Returns the subsets of some member names, except the empty one. For many names, only all of them. */
export function subsets(names: readonly string[]): ReadonlySet<string>[] {
  const all = [...new Set(names)]
  if (all.length > MAX_NAMES) return [new Set(all), ...all.slice(0, MAX_NAMES).map((name) => new Set([name]))]
  const masks = Array.from({ length: 2 ** all.length - 1 }, (_, index) => index + 1)
  return masks.map((mask) => new Set(all.filter((_, bit) => mask & (1 << bit))))
}

/** One way to write the numbers of a document. The key differs for each way, and the style is one of a program. */
interface Numbers {
  style: string
  write: WriteNumber
  cost: number
  says: string
  key: string
}

type IsFloat = (decimal: Decimal, member: string) => boolean

/** Returns the ways to write the numbers of a document: as received, and in each style with some of them as floats. */
export function numbersOf(numbers: ReadonlyMap<string, readonly [raw: string, member: string]>): Numbers[] {
  const all = [...numbers.values()]
  const decimals = new Map(all.map(([raw]) => [raw, toDecimal(raw)]))
  const isWhole = (raw: string): boolean => decimals.get(raw)?.isWhole === true
  const withFraction = new Set(all.flatMap(([raw, member]) => (isWhole(raw) ? [] : [member])))
  const whole = all.flatMap(([raw, member]) => (isWhole(raw) ? [member] : []))
  const floats: readonly (readonly [isFloat: IsFloat, cost: number, says: string])[] = [
    [({ isInteger }) => !isInteger, 0, ''],
    [
      ({ isInteger }, member) => !isInteger || withFraction.has(member),
      1,
      'with whole numbers as floats next to fractions',
    ],
    [() => true, 1, 'with all numbers as floats'],
    [(decimal) => !decimal.isWhole, 1, 'with whole numbers as integers'],
    ...subsets(whole).map(
      (names) =>
        [
          (decimal: Decimal, member: string) => !decimal.isWhole || names.has(member),
          2,
          'with some whole numbers as floats',
        ] as const,
    ),
  ]
  const maxLength = 4 * all.reduce((sum, [raw]) => sum + raw.length, 0) + 0x10000
  const keyOf = (write: WriteNumber): string | undefined => {
    let key = ''
    for (const [raw, member] of all) {
      key += ` ${write(raw, member)}`
      if (key.length > maxLength) return undefined // longer than a text may be
    }
    return key
  }
  const options: Numbers[] = [
    { style: '', write: (raw) => raw, cost: 0, says: '', key: all.map(([raw]) => ` ${raw}`).join('') },
  ]
  for (const [style, format] of Object.entries(STYLES)) {
    const known = new Set<string>()
    for (const [isFloat, cost, says] of floats) {
      const write: WriteNumber = (raw, member) => {
        const decimal = decimals.get(raw) as Decimal
        return writeNumber(decimal, isFloat(decimal, member), raw, format)
      }
      const key = keyOf(write)
      if (key === undefined || known.has(key)) continue
      known.add(key)
      options.push({ style, write, cost, says, key })
    }
  }
  return options
}
