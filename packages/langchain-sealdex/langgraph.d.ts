export * from "sealdex/langgraph";
