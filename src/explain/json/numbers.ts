/** A finite number as ± d.ddd × 10^exponent, with the fewest digits that identify the double. */
export interface Decimal {
  literal: string
  sign: '' | '-'
  digits: string
  exponent: number
  isWhole: boolean
  /** True for a literal without a fraction and an exponent. */
  isInteger: boolean
}

export function toDecimal(literal: string): Decimal {
  // A double cannot have the value of 1e999, which some parsers replace by the largest double.
  const value = Math.min(Math.abs(Number(literal)), Number.MAX_VALUE)
  const [, whole = '', fraction = '', power = '0'] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(`${value}`) ?? []
  const all = (whole + fraction).replace(/^0+(?=.)/, '')
  const exponent = Number(power) + whole.length - 1 - (whole.length + fraction.length - all.length)
  const sign = literal.startsWith('-') ? '-' : ''
  let end = all.length
  while (end > 1 && all[end - 1] === '0') end--
  const digits = all.slice(0, end)
  const isInteger = /^-?\d+$/.test(literal)
  const isWhole = digits.length <= exponent + 1
  return { literal, sign, digits, exponent, isWhole, isInteger }
}

/** Writes all digits, without an exponent and without a fraction of zeros. Not stored, because it can be long. */
function plain({ sign, digits, exponent }: Decimal): string {
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = sign + digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return digits.length > exponent + 1 ? `${whole}.${digits.slice(exponent + 1)}` : whole
}

interface FloatFormat {
  /** Exponents from the first to the last are written without the letter e. */
  from: number
  to: number
  /** Added to `to` for each digit of the number. Default 0. */
  toPerDigit?: number
  /** Replaces `to` for a number of 17 digits. */
  toExact?: number
  /** What precedes the digits of a positive and of a negative exponent. */
  e: readonly [positive: string, negative: string]
  /** Minimum digits of an exponent. Default 1. */
  pad?: number
  /** What follows a whole number. */
  whole?: '.0'
  /** What follows a whole number in front of an exponent. */
  point?: '.0'
  /** True if integers are read as doubles too. */
  hasOnlyDoubles?: true
}

/** Writes a number. A parser knows its literal, and whether it is a float. */
export function writeNumber(number: Decimal, isFloat: boolean, style: NumberStyle): string {
  const format: FloatFormat | 'expanded' = NUMBERS[style]
  const { literal, sign, digits, exponent, isWhole, isInteger } = number
  if (format === 'expanded') {
    if (!isFloat && isWhole) return plain(number)
    return isInteger && isFloat ? `${literal}.0` : expand(literal)
  }
  if (!isFloat && isWhole && !format.hasOnlyDoubles) return isInteger ? literal : plain(number)
  const { from, to, toPerDigit = 0, toExact = to, e, pad = 1, whole = '', point = '' } = format
  const last = digits.length === 17 ? toExact : to
  if (exponent >= from && exponent <= last + toPerDigit * digits.length)
    return isWhole ? plain(number) + whole : plain(number)
  const mantissa = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits + point
  return sign + mantissa + e[exponent < 0 ? 1 : 0] + `${Math.abs(exponent)}`.padStart(pad, '0')
}

/** Ways to write numbers. Each was recorded from the real writer, or is documented by it. */
export const NUMBERS = {
  javaScript: { from: -6, to: 20, e: ['e+', 'e-'], hasOnlyDoubles: true },
  go: { from: -6, to: 20, e: ['e+', 'e-'] },
  python: { from: -4, to: 15, e: ['e+', 'e-'], pad: 2, whole: '.0' },
  ujson: { from: -4, to: 15, e: ['e+', 'e-'], whole: '.0' },
  ruby: { from: -4, to: 14, toExact: 15, e: ['e+', 'e-'], pad: 2, whole: '.0', point: '.0' },
  java: { from: -3, to: 6, e: ['E', 'E-'], whole: '.0', point: '.0' },
  php: { from: -4, to: 16, e: ['e+', 'e-'], point: '.0' },
  phpZero: { from: -4, to: 16, e: ['e+', 'e-'], whole: '.0', point: '.0' },
  dotNet: { from: -4, to: 14, e: ['E+', 'E-'], pad: 2 },
  newtonsoft: { from: -4, to: 14, e: ['E+', 'E-'], pad: 2, whole: '.0' },
  jq: { from: -4, to: 14, toPerDigit: 1, e: ['e+', 'e-'], pad: 2, hasOnlyDoubles: true },
  postgres: { from: -4, to: 14, e: ['e+', 'e-'], pad: 2 },
  rust: { from: -5, to: 15, e: ['e', 'e-'], whole: '.0' },
  swift: { from: -4, to: 15, e: ['e+', 'e-'], pad: 2 },
  cpp: { from: -4, to: 14, e: ['e+', 'e-'], pad: 2, whole: '.0' },
  dart: { from: -6, to: 20, e: ['e+', 'e-'], whole: '.0' },
  numeric: 'expanded',
} as const

export type NumberStyle = keyof typeof NUMBERS

/** Writes a literal without an exponent and with all its digits, as the type numeric of PostgreSQL. */
function expand(literal: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal.replace(/\.0(?=e)/i, '')) ?? []
  const shift = Number(power)
  if (shift === 0 || Math.abs(shift) > 400) return literal.replace(/^-(?=[0.]+$)/, '')
  const point = whole.length + shift
  const all = whole + fraction
  const before =
    all
      .slice(0, Math.max(point, 0))
      .padEnd(point, '0')
      .replace(/^0+(?=.)/, '') || '0'
  const after = point < 0 ? '0'.repeat(-point) + all : all.slice(point)
  return (/[1-9]/.test(all) ? sign : '') + (after ? `${before}.${after}` : before)
}
