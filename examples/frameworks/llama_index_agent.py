"""A LlamaIndex agent over your documents: `python llama_index_agent.py INDEX_FOLDER QUESTION`.

The model is scripted, so that this runs anywhere; put any LLM of LlamaIndex that calls tools in its place.
"""

import asyncio
import sys
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, MessageRole
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.mock import MockLLM
from llama_index.core.tools.calling import ToolSelection

from lexigraph.integrations.llama_index import LexigraphToolSpec

index, question = sys.argv[1:3]


class ScriptedModel(MockLLM, FunctionCallingLLM):
    """Calls the tool ``ask``, then answers with the first source that it tells."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any
    ) -> dict[str, Any]:
        return {"messages": [*(chat_history or []), *([user_msg] if user_msg else [])]}

    async def astream_chat_with_tools(self, tools: Any, **asked: Any) -> Any:
        messages = self._prepare_chat_with_tools(tools, **asked)["messages"]
        told = [message for message in messages if message.role == MessageRole.TOOL]
        text, call = "", {"name": "ask", "question": question}
        if told:
            first = next(line for line in str(told[-1].content).splitlines() if line.startswith("[S1]"))
            text, call = f"{first.partition(': ')[2]} [S1]", {}

        async def stream() -> Any:
            message = ChatMessage(content=text, role=MessageRole.ASSISTANT)
            yield ChatResponse(message=message, delta=text, additional_kwargs=call)

        return stream()

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        call = response.additional_kwargs
        if not call:
            return []
        return [ToolSelection(tool_id="call-1", tool_name=call["name"], tool_kwargs={"question": call["question"]})]


async def main() -> None:
    tools = LexigraphToolSpec(index=index).to_tool_list()
    agent = FunctionAgent(tools=tools, llm=ScriptedModel())
    print(await agent.run(user_msg=question))


asyncio.run(main())
