/**
 * What is mutated, and the tests that have to notice it: those of the same room, not all that happen to run the code.
 * Tests that start another process use the built package, which holds no mutant, so they are left out.
 */
export const ROOMS = {
  signature: {
    mutate: ['src/signature/*.ts'],
    tests: [
      'test/signature/{explain-input,explain-rewritten,flaws,hmac,sizes,vectors,verify}.test.ts',
      'test/payload/decode.test.ts',
      'test/receiver/{form-field,options,outcomes}.test.ts',
      'test/{known-traps,properties,testing}.test.ts',
    ],
  },
  explain: {
    mutate: ['src/signature/explain/*.ts'],
    tests: ['test/signature/explain-*.test.ts'],
  },
  payload: {
    mutate: ['src/payload/**/*.ts'],
    tests: [
      'test/payload/*.test.ts',
      'test/receiver/dispatch.test.ts',
      'test/mock/admin/edit-parameters.test.ts',
      'test/{properties,known-traps}.test.ts',
    ],
  },
  receiver: {
    mutate: ['src/receiver/*.ts', '!src/receiver/{drain,turn}.node.ts'],
    tests: ['test/receiver/*.test.ts', 'test/{known-traps,refusal}.test.ts', 'test/adapters/drained.test.ts'],
  },
  adapters: {
    // Only tests with sockets see how a refused request is drained. The contract of all adapters would take half a
    // minute for each change.
    mutate: ['src/adapters/*.ts', 'src/receiver/{drain,turn}.node.ts'],
    tests: ['test/adapters/!(close).test.ts', 'test/contract/refused.test.ts'],
  },
}
