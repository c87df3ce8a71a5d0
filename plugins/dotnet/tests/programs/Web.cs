// SPDX-License-Identifier: Apache-2.0
//
// A server of ASP.NET: pages that sort, match, format, wait and throw.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace Web
{

record Item(int Id, string Name, double[] Values);

static class Pages
{
	static readonly Regex word = new Regex(@"\b(\w+)-(\d+)\b", RegexOptions.Compiled);

	static List<Item> Items(int n) =>
		Enumerable.Range(0, n).Select(i => new Item(i, $"item-{i * 7919 % 1000}", new[] { i / 3.0, Math.Sqrt(i) })).ToList();

	public static string Sorted() =>
		JsonSerializer.Serialize(Items(500).OrderBy(item => item.Name).ThenByDescending(item => item.Values[1]));

	public static string Matched()
	{
		string text = string.Join(" ", Items(300).Select(item => item.Name));

		return word.Replace(text, found => found.Groups[2].Value + found.Groups[1].Value.ToUpperInvariant());
	}

	static int Parse(string text)
	{
		try
		{
			return int.Parse(text);
		}
		catch (FormatException)
		{
			return -text.Length;
		}
	}

	public static string Thrown() => string.Join(",", Items(20).Select(item => Parse(item.Id % 2 == 0 ? item.Name : "12")));

	static async Task<int> Later(int n)
	{
		await Task.Yield();
		return n < 2 ? n : await Later(n - 1) + await Later(n - 2);
	}

	public static async Task<string> Awaited()
	{
		var text = new StringBuilder();

		for (int i = 0; i < 10; i++)
			text.AppendLine((await Later(i)).ToString());
		return text.ToString();
	}
}

static class Program
{
	static void Main(string[] args)
	{
		var builder = WebApplication.CreateSlimBuilder();

		builder.Logging.ClearProviders();
		builder.WebHost.UseUrls("http://127.0.0.1:" + args[0]);
		var app = builder.Build();

		app.MapGet("/sorted", Pages.Sorted);
		app.MapGet("/matched", Pages.Matched);
		app.MapGet("/thrown", Pages.Thrown);
		app.MapGet("/awaited", Pages.Awaited);
		app.Run();
	}
}

}
