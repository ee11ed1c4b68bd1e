import config from "./vitest.config.js";
export default {
  ...config,
  test: { ...config.test, setupFiles: ["test/zz-cpu-setup.ts"], pool: "forks", maxWorkers: 1 },
};
