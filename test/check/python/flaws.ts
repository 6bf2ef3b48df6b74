import type { Finds } from '../expectations.ts'

/** Scenarios that expect a refusal of a signature that is not 64 hex digits. */
const MALFORMED = [
  'signature-empty',
  'signature-odd-hex',
  'signature-truncated',
  'signature-other-algorithm',
  'signature-partly-right',
  'signature-double-encoded',
] as const

/** The receivers with one flaw in flaws.py, by the name of their class. */
export const PYTHON_FLAWS: Readonly<Record<string, Finds>> = {
  ComparesText: { fails: ['upper-case-hex'] },
  VerifiesOnlyGivenSignatures: { fails: ['signature-missing', 'signature-empty', 'content-type-forged'] },
  SerializesAgain: { fails: ['body-reserialized', 'body-json-equal', 'unverified-json'] },
  DecodesTwice: { fails: ['signature-double-encoded'] },
  AnswersFirst: {
    fails: [
      'signature-wrong-key',
      'signature-missing',
      'signature-malformed',
      ...MALFORMED,
      'signature-empty-key',
      'signature-repeated',
      'body-altered',
      'body-json-equal',
      'body-invalid-utf8',
      'body-bom-added',
      'content-type-forged',
      'form-decoded',
      'length-short',
    ],
  },
  ParsesFirst: { fails: ['unverified-json'] },
  HasNoLimit: { fails: ['too-large-length'], mayFail: ['too-large-chunked'] },
  WaitsWithoutEnd: { fails: ['slow-upload'] },
  NeverAnswersOddSignatures: { fails: ['signature-malformed', ...MALFORMED] },
  TellsExpectedSignature: { fails: ['no-signature'] },
  TellsReason: { fails: ['uniform-refusal'] },
  LosesRetries: { fails: ['retry-after-lost-response'], hasSideEffects: true },
  ComparesOnlyStart: { fails: ['signature-truncated'] },
  FailsOnOddHex: { fails: ['signature-malformed', ...MALFORMED] },
  ComparesNonAscii: { fails: ['signature-malformed'] },
  VerifiesOnlyJson: { fails: ['content-type-forged', 'form-decoded'] },
  SignsReplacedText: { fails: ['body-invalid-utf8'] },
  StripsByteOrderMark: { fails: ['body-bom-added'] },
  DecodesForms: { fails: ['form-decoded'] },
  SendsTraces: { fails: ['no-stack-trace'] },
  HandlesAgain: { fails: ['duplicate-in-turn', 'duplicate-at-once'], hasSideEffects: true },
  ComparesFirstBytes: { fails: ['signature-partly-right'] },
  AcceptsEveryMethod: { fails: ['signed-methods'] },
  ReadsFieldsInJson: { fails: ['content-type-confused'] },
  DecodesFormTwice: { fails: ['form-decoded-once'] },
  LeavesBodyUnread: { fails: ['smuggled-request', 'keep-alive-after-refusal', 'pipelined'] },
}
