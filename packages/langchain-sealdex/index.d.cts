export * from "sealdex";
