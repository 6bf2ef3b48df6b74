/**
 * Files to mutate, and the tests that must notice the changes. Tests that start another process are left out, because
 * they use the built package without the change.
 */
export const AREAS = {
  signature: {
    mutate: ['src/signature/*.ts'],
    tests: [
      'test/signature/{explain-input,errors,explain-rewritten,hmac,sizes,vectors,verify}.test.ts',
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
    mutate: ['src/receiver/*.ts', '!src/receiver/drain.node.ts'],
    tests: [
      'test/receiver/!(stackless-error-frozen).test.ts',
      'test/known-traps.test.ts',
      'test/adapters/drain-refused.test.ts',
    ],
  },
  adapters: {
    // Only tests with sockets cover the draining of refused requests. The complete contract of all adapters is left out,
    // because it would take half a minute per change.
    mutate: ['src/adapters/*.ts', 'src/receiver/drain.node.ts'],
    tests: ['test/adapters/!(close-before-exit).test.ts', 'test/contract/refused-uploads.test.ts'],
  },
}
