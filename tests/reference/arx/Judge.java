import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXCostBenefitConfiguration;
import org.deidentifier.arx.ARXPopulationModel;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.ARXSolverConfiguration;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.AttributeType.Hierarchy.DefaultHierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.DataSubset;
import org.deidentifier.arx.DataType;
import org.deidentifier.arx.criteria.AverageReidentificationRisk;
import org.deidentifier.arx.criteria.BasicBLikeness;
import org.deidentifier.arx.criteria.DDisclosurePrivacy;
import org.deidentifier.arx.criteria.DPresence;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.EnhancedBLikeness;
import org.deidentifier.arx.criteria.EntropyLDiversity;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.HierarchicalDistanceTCloseness;
import org.deidentifier.arx.criteria.Inclusion;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.criteria.KMap;
import org.deidentifier.arx.criteria.KMap.CellSizeEstimator;
import org.deidentifier.arx.criteria.OrderedDistanceTCloseness;
import org.deidentifier.arx.criteria.PopulationUniqueness;
import org.deidentifier.arx.criteria.PrivacyCriterion;
import org.deidentifier.arx.criteria.ProfitabilityJournalist;
import org.deidentifier.arx.criteria.ProfitabilityJournalistNoAttack;
import org.deidentifier.arx.criteria.ProfitabilityProsecutor;
import org.deidentifier.arx.criteria.ProfitabilityProsecutorNoAttack;
import org.deidentifier.arx.criteria.RecursiveCLDiversity;
import org.deidentifier.arx.criteria.SampleUniqueness;
import org.deidentifier.arx.metric.Metric;
import org.deidentifier.arx.risk.RiskEstimateBuilder;
import org.deidentifier.arx.risk.RiskModelPopulationUniqueness;
import org.deidentifier.arx.risk.RiskModelPopulationUniqueness.PopulationUniquenessModel;
import org.deidentifier.arx.risk.RiskModelSampleSummary;

/**
 * Asks ARX whether tables satisfy models as they are, and what their risks are. A line of the file of cases has,
 * separated by tabs: a table, its quasi-identifiers, the sensitive column, the model and its parameters. Prints a
 * line for each.
 */
public class Judge {

    private static final double THRESHOLD = 0.2;

    public static void main(String[] given) throws Exception {
        for (String line : Files.readAllLines(new File(given[0]).toPath(), StandardCharsets.UTF_8)) {
            String[] cells = line.split("\t", -1);
            Set<String> quasi = new HashSet<String>(Arrays.asList(cells[1].split(",")));
            String[] parameters = Arrays.copyOfRange(cells, 4, cells.length);
            System.out.println(
                cells[3].equals("risk") ? risks(cells[0], quasi, Double.parseDouble(parameters[0]))
                : cells[3].equals("optimum") ? optimum(cells[0], cells[1].split(","), parameters)
                : String.valueOf(holds(cells[0], quasi, cells[2], cells[3], parameters)));
        }
    }

    /** A table whose quasi-identifiers have the hierarchy of one level: nothing can be generalised. */
    private static Data read(String table, Set<String> quasi, String sensitive, String model) throws Exception {
        Data data = Data.create(table, StandardCharsets.UTF_8, ',');
        DataHandle raw = data.getHandle();
        for (int column = 0; column < raw.getNumColumns(); column++) {
            String name = raw.getAttributeName(column);
            if (quasi.contains(name)) {
                DefaultHierarchy own = Hierarchy.create();
                for (String value : new TreeSet<String>(Arrays.asList(raw.getDistinctValues(column)))) {
                    own.add(value);
                }
                data.getDefinition().setAttributeType(name, AttributeType.QUASI_IDENTIFYING_ATTRIBUTE);
                data.getDefinition().setHierarchy(name, own);
            } else {
                boolean asked = name.equals(sensitive) && isAboutValues(model);
                data.getDefinition().setAttributeType(
                    name, asked ? AttributeType.SENSITIVE_ATTRIBUTE : AttributeType.INSENSITIVE_ATTRIBUTE);
                if (name.equals(sensitive)) {
                    data.getDefinition().setDataType(name, DataType.INTEGER);
                }
            }
        }
        return data;
    }

    private static boolean isAboutValues(String model) {
        return Arrays.asList("distinct-l", "entropy-l", "grassberger-l", "recursive-cl", "t-equal", "t-ordered",
            "t-hierarchical", "basic-beta", "enhanced-beta", "delta-disclosure").contains(model);
    }

    private static boolean holds(String table, Set<String> quasi, String sensitive, String model, String[] given)
        throws Exception {
        Data data = read(table, quasi, sensitive, model);
        ARXConfiguration goal = ARXConfiguration.create();
        goal.setSuppressionLimit(0d);
        goal.setQualityModel(Metric.createLossMetric());
        for (PrivacyCriterion criterion : criteria(data, sensitive, model, given, goal)) {
            goal.addPrivacyModel(criterion);
        }
        ARXResult result = new ARXAnonymizer().anonymize(data, goal);
        return result.isResultAvailable();
    }

    private static List<PrivacyCriterion> criteria(
        Data data, String sensitive, String model, String[] given, ARXConfiguration goal) throws Exception {
        List<PrivacyCriterion> all = new ArrayList<PrivacyCriterion>();
        double first = model.startsWith("profit") ? 0d : Double.parseDouble(given[0]);
        int rows = data.getHandle().getNumRows();
        switch (model) {
            case "k": all.add(new KAnonymity((int) first)); break;
            case "distinct-l": all.add(new DistinctLDiversity(sensitive, (int) first)); break;
            case "entropy-l": all.add(new EntropyLDiversity(sensitive, first)); break;
            case "grassberger-l": all.add(
                new EntropyLDiversity(sensitive, first, EntropyLDiversity.EntropyEstimator.GRASSBERGER)); break;
            case "recursive-cl": all.add(
                new RecursiveCLDiversity(sensitive, first, Integer.parseInt(given[1]))); break;
            case "t-equal": all.add(new EqualDistanceTCloseness(sensitive, first)); break;
            case "t-ordered": all.add(new OrderedDistanceTCloseness(sensitive, first)); break;
            case "t-hierarchical": all.add(new HierarchicalDistanceTCloseness(
                sensitive, first, Hierarchy.create(new File(given[1]), StandardCharsets.UTF_8, ';'))); break;
            case "basic-beta": all.add(new BasicBLikeness(sensitive, first)); break;
            case "enhanced-beta": all.add(new EnhancedBLikeness(sensitive, first)); break;
            case "delta-disclosure": all.add(new DDisclosurePrivacy(sensitive, first)); break;
            case "average-risk": all.add(new AverageReidentificationRisk(first)); break;
            case "uniqueness": all.add(new SampleUniqueness(first)); break;
            case "population-uniqueness":
                PopulationUniquenessModel estimator = PopulationUniquenessModel.valueOf(given[2]);
                all.add(new PopulationUniqueness(
                    first, estimator, ARXPopulationModel.create(rows, Double.parseDouble(given[1])))); break;
            case "k-map-estimate":
                all.add(new KMap((int) first, Double.parseDouble(given[2]),
                    ARXPopulationModel.create(rows, Double.parseDouble(given[1])),
                    CellSizeEstimator.valueOf(given[3]))); break;
            case "k-map": all.add(new KMap((int) first, firstRows(data, given[1]))); break;
            case "delta-presence": all.add(
                new DPresence(first, Double.parseDouble(given[1]), firstRows(data, given[2]))); break;
            case "profitability": addProfitability(data, given, goal, all); break;
            default: throw new IllegalArgumentException(model);
        }
        return all;
    }

    /** Money, who attacks (``prosecutor`` or the number of rows that are released), and whether attacks may pay. */
    private static void addProfitability(
        Data data, String[] given, ARXConfiguration goal, List<PrivacyCriterion> all) throws Exception {
        goal.setCostBenefitConfiguration(ARXCostBenefitConfiguration.create()
            .setAdversaryGain(Double.parseDouble(given[0]))
            .setAdversaryCost(Double.parseDouble(given[1]))
            .setPublisherBenefit(Double.parseDouble(given[2]))
            .setPublisherLoss(Double.parseDouble(given[3])));
        boolean permitted = given[5].equals("permitted");
        if (given[4].equals("prosecutor")) {
            all.add(permitted ? new ProfitabilityProsecutor() : new ProfitabilityProsecutorNoAttack());
        } else {
            DataSubset subset = firstRows(data, given[4]);
            all.add(permitted ? new ProfitabilityJournalist(subset) : new ProfitabilityJournalistNoAttack(subset));
        }
    }

    /** The first rows of a population are the table that is released. */
    private static DataSubset firstRows(Data data, String rows) {
        Set<Integer> first = new HashSet<Integer>();
        for (int row = 0; row < Integer.parseInt(rows); row++) {
            first.add(row);
        }
        return DataSubset.create(data, first);
    }

    /** The least loss with one level for a whole column; given are k, the loss, the limit and the hierarchies. */
    private static String optimum(String table, String[] quasi, String[] given) throws Exception {
        Data data = Data.create(table, StandardCharsets.UTF_8, ',');
        for (String name : quasi) {
            data.getDefinition().setAttributeType(name, AttributeType.QUASI_IDENTIFYING_ATTRIBUTE);
            data.getDefinition().setHierarchy(
                name, Hierarchy.create(new File(given[3], name + ".csv"), StandardCharsets.UTF_8, ';'));
        }
        data.getDefinition().setAttributeType("s", AttributeType.INSENSITIVE_ATTRIBUTE);
        ARXConfiguration goal = ARXConfiguration.create();
        goal.addPrivacyModel(new KAnonymity(Integer.parseInt(given[0])));
        goal.setSuppressionLimit(Double.parseDouble(given[2]));
        goal.setQualityModel(metric(given[1]));
        ARXResult result = new ARXAnonymizer().anonymize(data, goal);
        return result.isResultAvailable() ? result.getGlobalOptimum().getHighestScore().toString() : "none";
    }

    private static Metric<?> metric(String name) {
        switch (name) {
            case "generalised": return Metric.createLossMetric();
            case "class-size": return Metric.createAECSMetric();
            case "entropy": return Metric.createEntropyMetric();
            case "precision": return Metric.createPrecisionMetric();
            case "height": return Metric.createHeightMetric();
            case "discernibility": return Metric.createDiscernabilityMetric();
            case "ambiguity": return Metric.createAmbiguityMetric();
            case "kl-divergence": return Metric.createKLDivergenceMetric();
            default: throw new IllegalArgumentException(name);
        }
    }

    private static String risks(String table, Set<String> quasi, double fraction) throws Exception {
        Data data = read(table, quasi, "", "risk");
        DataHandle raw = data.getHandle();
        ARXPopulationModel population = ARXPopulationModel.create(raw.getNumRows(), fraction);
        RiskEstimateBuilder builder =
            raw.getRiskEstimator(population, quasi, ARXSolverConfiguration.create());
        RiskModelSampleSummary summary = builder.getSampleBasedRiskSummary(THRESHOLD, "*");
        RiskModelPopulationUniqueness uniques = builder.getPopulationBasedUniquenessRisk();
        double[] figures = {
            summary.getProsecutorRisk().getHighestRisk(),
            summary.getProsecutorRisk().getSuccessRate(),
            summary.getProsecutorRisk().getRecordsAtRisk(),
            summary.getJournalistRisk().getHighestRisk(),
            summary.getJournalistRisk().getSuccessRate(),
            summary.getMarketerRisk().getSuccessRate(),
            builder.getSampleBasedUniquenessRisk().getFractionOfUniqueRecords(),
            uniques.getFractionOfUniqueTuples(PopulationUniquenessModel.ZAYATZ),
            uniques.getFractionOfUniqueTuples(PopulationUniquenessModel.PITMAN),
            uniques.getFractionOfUniqueTuples(PopulationUniquenessModel.SNB),
            uniques.getFractionOfUniqueTuples(PopulationUniquenessModel.DANKAR),
        };
        StringBuilder line = new StringBuilder();
        for (double figure : figures) {
            line.append(line.length() > 0 ? "\t" : "").append(figure);
        }
        return line.toString();
    }
}
